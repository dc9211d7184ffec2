// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	pods "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// clientTests: our client calls grpc-go's server.
func clientTests() []test {
	return []test{
		{"client: unary calls of one byte to 16 MB are echoed", clientEcho},
		{"client: a thousand messages of one stream come, then its status", clientStream},
		{"client: status and text come through, trailers-only", clientRefuse},
		{"client: a deadline is told to the server and ends the call", clientDeadline},
		{"client: a cancelled call is cancelled on the server", clientCancel},
		{"client: an unknown method is unimplemented", clientUnknown},
		{"client: an answer above the limit is refused", clientTooLarge},
		{"client: fifty calls through two streams at a time", clientFewStreams},
		{"client: GOAWAY lets the running call end, the next finds the new server", clientGoAway},
		{"client: a server that ends in the middle is unavailable", clientKilled},
		{"client: Registration, ListAndWatch of 5000 devices", clientPlugin},
		{"client: PodResources List and Get", clientPods},
	}
}

// peerServer does for our client what grpc-peer does for grpc-go's.
type peerServer struct {
	seen chan string
}

func (p *peerServer) handle(_ any, s grpc.ServerStream) error {
	method, _ := grpc.Method(s.Context())
	var message []byte
	if err := s.RecvMsg(&message); err != nil {
		return err
	}
	switch strings.TrimPrefix(method, "/conformance.Peer/") {
	case "Echo":
		return s.SendMsg(&message)
	case "Repeat":
		for i := 0; i < 1000; i++ {
			if err := s.SendMsg(&message); err != nil {
				return err
			}
		}
		return status.Error(codes.Aborted, "enough")
	case "Refuse":
		return status.Error(codes.FailedPrecondition, "50 % of Grüße \"x\"")
	case "Large":
		answer := make([]byte, 17<<20)
		return s.SendMsg(&answer)
	case "Half":
		if err := s.SendMsg(&message); err != nil {
			return err
		}
		fallthrough
	case "Keep":
		if deadline, ok := s.Context().Deadline(); ok {
			p.seen <- fmt.Sprintf("left %d", time.Until(deadline).Milliseconds())
		}
		p.seen <- "kept"
		<-s.Context().Done()
		p.seen <- "done " + s.Context().Err().Error()
		return s.Context().Err()
	case "Slow":
		p.seen <- "kept"
		time.Sleep(300 * time.Millisecond)
		return s.SendMsg(&message)
	}
	return status.Error(codes.Unimplemented, method)
}

// called starts a server of grpc-go and a peer that calls it.
func (w *world) called(options ...grpc.ServerOption) (*peerServer, *grpc.Server, error) {
	p := &peerServer{seen: make(chan string, 1000)}
	options = append(options, grpc.UnknownServiceHandler(p.handle), grpc.ForceServerCodecV2(raw{}),
		grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20))
	server := grpc.NewServer(options...)
	if err := w.listen(server); err != nil {
		return nil, nil, err
	}
	return p, server, w.start("call")
}

func (p *peerServer) expect(text string) (string, error) {
	timer := time.After(patience)
	for {
		select {
		case line := <-p.seen:
			if strings.HasPrefix(line, text) {
				return line, nil
			}
		case <-timer:
			return "", fmt.Errorf("the server did not see %q", text)
		}
	}
}

// one makes a call and compares how it ended: "CODE MESSAGES BYTES NEVER-RAN TEXT".
func (w *world) one(id int, method string, size, timeout int, kind, wanted string) error {
	err := w.tell("call %d /conformance.Peer/%s %d %d %s", id, method, size, timeout, kind)
	if err != nil {
		return err
	}
	return w.ended(id, wanted)
}

func (w *world) ended(id int, wanted string) error {
	prefix := fmt.Sprintf("ended %d ", id)
	line, err := w.expect(prefix)
	if err != nil {
		return err
	}
	if got := strings.TrimPrefix(line, prefix); !strings.HasPrefix(got, wanted) {
		return fmt.Errorf("ended by %q, not %q", got, wanted)
	}
	return nil
}

func clientEcho(w *world) error {
	if _, _, err := w.called(); err != nil {
		return err
	}
	for i, size := range []int{0, 1, 5, 16383, 16384, 65535, 1 << 20, 16 << 20} {
		if err := w.one(i, "Echo", size, 20000, "one", fmt.Sprintf("0 1 %d 0", size)); err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
	}
	return nil
}

func clientStream(w *world) error {
	if _, _, err := w.called(); err != nil {
		return err
	}
	if err := w.one(1, "Repeat", 9000, 0, "many", "10 1000 9000000 0 enough"); err != nil {
		return err
	}
	return w.one(2, "Repeat", 10, 0, "one", "13 0 0 0")
}

func clientRefuse(w *world) error {
	if _, _, err := w.called(); err != nil {
		return err
	}
	return w.one(1, "Refuse", 1, 0, "one", "9 0 0 0 50 % of Grüße \"x\"")
}

func clientDeadline(w *world) error {
	p, _, err := w.called()
	if err != nil {
		return err
	}
	if err := w.one(1, "Keep", 1, 300, "one", "4 0 0 0"); err != nil {
		return err
	}
	line, err := p.expect("left ")
	if err != nil {
		return err
	}
	var left int
	if _, err := fmt.Sscanf(line, "left %d", &left); err != nil || left > 300 || left < 1 {
		return fmt.Errorf("the server saw %q", line)
	}
	if _, err = p.expect("done "); err != nil {
		return err
	}
	return w.one(2, "Echo", 1, 0, "one", "0 1 1 0")
}

func clientCancel(w *world) error {
	p, _, err := w.called()
	if err != nil {
		return err
	}
	if err := w.tell("call 1 /conformance.Peer/Keep 1 0 many"); err != nil {
		return err
	}
	if _, err := p.expect("kept"); err != nil {
		return err
	}
	if err := w.tell("cancel 1"); err != nil {
		return err
	}
	if _, err := p.expect("done " + context.Canceled.Error()); err != nil {
		return err
	}
	return w.one(2, "Echo", 1, 0, "one", "0 1 1 0")
}

func clientUnknown(w *world) error {
	if _, _, err := w.called(); err != nil {
		return err
	}
	return w.one(1, "Nothing", 1, 0, "one", "12 0 0 0")
}

func clientTooLarge(w *world) error {
	if _, _, err := w.called(); err != nil {
		return err
	}
	if err := w.one(1, "Large", 1, 0, "one", "8 0 0 0"); err != nil {
		return err
	}
	return w.one(2, "Echo", 1, 0, "one", "0 1 1 0")
}

func clientFewStreams(w *world) error {
	if _, _, err := w.called(grpc.MaxConcurrentStreams(2)); err != nil {
		return err
	}
	for i := 0; i < 50; i++ {
		if err := w.tell("call %d /conformance.Peer/Echo %d 20000 one", i, i*1000); err != nil {
			return err
		}
	}
	for i := 0; i < 50; i++ {
		line, err := w.expect("ended ")
		if err != nil {
			return err
		}
		var id, code, messages, size int
		_, err = fmt.Sscanf(line, "ended %d %d %d %d", &id, &code, &messages, &size)
		if err != nil || code != 0 || size != id*1000 {
			return fmt.Errorf("%q", line)
		}
	}
	return nil
}

func clientGoAway(w *world) error {
	p, server, err := w.called()
	if err != nil {
		return err
	}
	if err := w.tell("call 1 /conformance.Peer/Slow 7 0 one"); err != nil {
		return err
	}
	if _, err := p.expect("kept"); err != nil {
		return err
	}
	stopped := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(stopped)
	}()
	if err := w.ended(1, "0 1 7 0"); err != nil {
		return err
	}
	<-stopped
	if err := w.one(2, "Echo", 1, 0, "one", "14 0 0 1"); err != nil {
		return err
	}
	next := grpc.NewServer(grpc.UnknownServiceHandler(p.handle), grpc.ForceServerCodecV2(raw{}))
	if err := w.listen(next); err != nil {
		return err
	}
	return w.one(3, "Echo", 1, 0, "one", "0 1 1 0")
}

func clientKilled(w *world) error {
	p, server, err := w.called()
	if err != nil {
		return err
	}
	if err := w.tell("call 1 /conformance.Peer/Half 5 0 many"); err != nil {
		return err
	}
	if _, err := p.expect("kept"); err != nil {
		return err
	}
	if _, err := w.expect("first 1"); err != nil {
		return err
	}
	server.Stop()
	return w.ended(1, "14 1 5 0")
}

type registration struct {
	plugin.UnimplementedRegistrationServer
	plugin.UnimplementedDevicePluginServer
	seen chan *plugin.RegisterRequest
}

func (r *registration) Register(_ context.Context, request *plugin.RegisterRequest) (*plugin.Empty,
	error) {
	r.seen <- request
	return &plugin.Empty{}, nil
}

func (r *registration) ListAndWatch(_ *plugin.Empty, s plugin.DevicePlugin_ListAndWatchServer) error {
	list := &plugin.ListAndWatchResponse{}
	for i := 0; i < 5000; i++ {
		list.Devices = append(list.Devices, &plugin.Device{ID: fmt.Sprintf("device-%d", i),
			Health: plugin.Healthy, Topology: &plugin.TopologyInfo{
				Nodes: []*plugin.NUMANode{{ID: int64(i % 2)}}}})
	}
	if err := s.Send(list); err != nil {
		return err
	}
	list.Devices = list.Devices[:1]
	list.Devices[0].Health = plugin.Unhealthy
	return s.Send(list)
}

func clientPlugin(w *world) error {
	server := grpc.NewServer()
	r := &registration{seen: make(chan *plugin.RegisterRequest, 1)}
	plugin.RegisterRegistrationServer(server, r)
	plugin.RegisterDevicePluginServer(server, r)
	if err := w.listen(server); err != nil {
		return err
	}
	if err := w.start("call"); err != nil {
		return err
	}
	if err := w.tell("register"); err != nil {
		return err
	}
	if _, err := w.expect("typed 0 registered"); err != nil {
		return err
	}
	seen := <-r.seen
	if seen.Version != plugin.Version || seen.Endpoint != "peer.sock" ||
		seen.ResourceName != "example.com/peer" || seen.Options.PreStartRequired ||
		!seen.Options.GetPreferredAllocationAvailable {
		return fmt.Errorf("%v", seen)
	}
	if err := w.tell("devices"); err != nil {
		return err
	}
	if _, err := w.expect("typed 0 devices 5000 device-4999 Healthy"); err != nil {
		return err
	}
	_, err := w.expect("typed 0 devices 1 device-0 Unhealthy")
	return err
}

type lister struct {
	pods.UnimplementedPodResourcesListerServer
}

func resources(name string, ids ...string) *pods.PodResources {
	return &pods.PodResources{Name: name, Namespace: "default", CpuIds: []int64{1, 2},
		Containers: []*pods.ContainerResources{{Name: "main", CpuIds: []int64{3},
			Memory: []*pods.ContainerMemory{{MemoryType: "memory", Size: 5}},
			Devices: []*pods.ContainerDevices{{ResourceName: "example.com/peer", DeviceIds: ids,
				Topology: &pods.TopologyInfo{Nodes: []*pods.NUMANode{{ID: 1}}}}}}}}
}

func (lister) List(context.Context, *pods.ListPodResourcesRequest) (*pods.ListPodResourcesResponse,
	error) {
	list := &pods.ListPodResourcesResponse{}
	for i := 0; i < 110; i++ {
		list.PodResources = append(list.PodResources, resources(fmt.Sprintf("pod-%d", i), "a", "b"))
	}
	return list, nil
}

func (lister) Get(_ context.Context, request *pods.GetPodResourcesRequest) (
	*pods.GetPodResourcesResponse, error) {
	if request.PodNamespace != "default" || request.PodName == "none" {
		return nil, status.Error(codes.NotFound, "no such pod")
	}
	return &pods.GetPodResourcesResponse{PodResources: resources(request.PodName, "z")}, nil
}

func clientPods(w *world) error {
	server := grpc.NewServer()
	pods.RegisterPodResourcesListerServer(server, lister{})
	if err := w.listen(server); err != nil {
		return err
	}
	if err := w.start("call"); err != nil {
		return err
	}
	if err := w.tell("pods"); err != nil {
		return err
	}
	if _, err := w.expect("typed 0 pod default/pod-109/main example.com/peer 2 a"); err != nil {
		return err
	}
	if _, err := w.expect("typed 0 pods 110"); err != nil {
		return err
	}
	if err := w.tell("pod one"); err != nil {
		return err
	}
	if _, err := w.expect("typed 0 pod default/one/main example.com/peer 1 z"); err != nil {
		return err
	}
	if err := w.tell("pod none"); err != nil {
		return err
	}
	_, err := w.expect("typed 5 no such pod")
	return err
}
