// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// A device plugin for tests, on the kubelet's own Go API. What it hands out is decided by
// --mode:
//
//	trivial     the devices whose ids the kubelet sent; asks nobody. The reference of speed
//	agent       the devices that hamid's agent names for the pod whose Allocate this is
//	vendor      the devices that the annotation of the lock's pod lists next; writes nothing
//	list-order  asks the agent, but hands out the first devices of its own list: a fault
//	            that the judge has to see
//
// A container gets its devices in the variable --variable, and the kubelet's ids in the same
// with _IDS. Each Allocate becomes one line of JSON on standard output. With --hold the answer
// stays away, though all else was done, as when a kubelet dies before it hears it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"haminodelock.test/kubelet/cluster"
)

const (
	callTimeout  = 5 * time.Second
	registerStep = 50 * time.Millisecond
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	resource string
	mode     string
	variable string
	devices  []string
	agent    *agent
	vendor   *vendor
	mutex    sync.Mutex // guards next and the lines of standard output
	next     int
	over     chan struct{} // closed when the kubelet is gone
	hold     string
}

// What standard output says of one Allocate.
type line struct {
	Event   string     `json:"event"`
	TimeNs  int64      `json:"time_ns"`
	Pod     string     `json:"pod,omitempty"`
	Ids     [][]string `json:"ids"`
	Devices [][]string `json:"devices,omitempty"`
	Error   string     `json:"error,omitempty"`
}

func (p *plugin) say(one line) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one.TimeNs = time.Now().UnixNano()
	_ = json.NewEncoder(os.Stdout).Encode(one)
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty,
	stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	list := &api.ListAndWatchResponse{}
	for _, id := range p.devices {
		list.Devices = append(list.Devices, &api.Device{ID: id, Health: api.Healthy})
	}
	if err := stream.Send(list); err != nil {
		return err
	}
	select {
	case <-p.over:
	case <-stream.Context().Done():
	}
	return nil
}

func (p *plugin) inListOrder(ids [][]string) [][]string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var all [][]string
	for _, container := range ids {
		var given []string
		for range container {
			given = append(given, p.devices[p.next%len(p.devices)])
			p.next++
		}
		all = append(all, given)
	}
	return all
}

// The devices of each container, and what is to be called once they are handed out.
func (p *plugin) decide(ids [][]string) (devices [][]string, pod string, err error) {
	if p.mode == "trivial" {
		return ids, "", nil
	}
	if p.mode == "vendor" {
		return p.vendor.decide(ids)
	}
	allocation, err := p.agent.begin(p.resource, ids)
	if err != nil {
		return nil, "", err
	}
	pod = allocation.Pod.Namespace + "/" + allocation.Pod.Name
	for _, container := range allocation.Containers {
		var uuids []string
		for _, device := range container.Devices {
			uuids = append(uuids, device.UUID)
		}
		devices = append(devices, uuids)
	}
	if p.mode == "list-order" {
		devices = p.inListOrder(ids)
	}
	return devices, pod, p.agent.done(allocation.ID)
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	var ids [][]string
	for _, container := range request.ContainerRequests {
		ids = append(ids, container.DevicesIds)
	}
	devices, pod, err := p.decide(ids)
	if err != nil {
		p.say(line{Event: "refused", Ids: ids, Pod: pod, Error: err.Error()})
		return nil, err
	}
	answer := &api.AllocateResponse{}
	for i := range ids {
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{
				p.variable:          strings.Join(devices[i], ","),
				p.variable + "_IDS": strings.Join(ids[i], ","),
			}})
	}
	if _, err := os.Stat(p.hold); p.hold != "" && err == nil {
		p.say(line{Event: "held", Ids: ids, Pod: pod, Devices: devices})
		<-p.over
		return nil, fmt.Errorf("the kubelet has gone")
	}
	p.say(line{Event: "allocated", Ids: ids, Pod: pod, Devices: devices})
	return answer, nil
}

// Tells the kubelet where we listen.
func (p *plugin) register(folder, endpoint string) error {
	connection, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: p.resource,
		Options: &api.DevicePluginOptions{}})
	return err
}

// Serves until the kubelet that we registered with is gone. A kubelet that starts empties the
// folder, our socket with it: that is how its coming is seen.
func (p *plugin) serve(folder, endpoint string) error {
	path := filepath.Join(folder, endpoint)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	p.over = make(chan struct{})
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	defer close(p.over)
	if err := p.register(folder, endpoint); err != nil {
		return err
	}
	p.say(line{Event: "registered"})
	own, err := os.Stat(path)
	if err != nil {
		return err
	}
	for {
		time.Sleep(registerStep)
		now, err := os.Stat(path)
		if err != nil || !os.SameFile(own, now) {
			return fmt.Errorf("the kubelet emptied its folder")
		}
	}
}

func main() {
	p := &plugin{}
	var agentSocket, prefix, folder, kubeconfig, node string
	var count int
	flag.StringVar(&p.resource, "resource", "nvidia.com/gpu", "resource to register")
	flag.StringVar(&p.mode, "mode", "trivial", "trivial, agent, vendor or list-order")
	flag.StringVar(&p.variable, "variable", "TEST_DEVICES", "variable for the devices")
	flag.StringVar(&agentSocket, "agent", "/run/hamid/agent.sock", "socket of hamid node")
	flag.StringVar(&prefix, "prefix", "GPU-", "beginning of the devices' names")
	flag.StringVar(&folder, "folder", api.DevicePluginPath, "the kubelet's folder")
	flag.StringVar(&p.hold, "hold", "", "while this file exists Allocates get no answer")
	flag.StringVar(&kubeconfig, "kubeconfig", "", "vendor: how to reach the API server")
	flag.StringVar(&node, "node", "", "vendor: name of this node")
	flag.IntVar(&count, "count", 200, "number of devices")
	flag.Parse()
	switch p.mode {
	case "trivial", "agent", "list-order":
	case "vendor":
		server, err := cluster.Open(kubeconfig, "vendor-plugin")
		if err != nil {
			log.Fatal(err)
		}
		p.vendor = &vendor{server, node}
	default:
		log.Fatalf("--mode: no such mode: %s", p.mode)
	}
	for i := range count {
		p.devices = append(p.devices, fmt.Sprintf("%s%04d", prefix, i))
	}
	p.agent = newAgent(agentSocket)
	endpoint := strings.NewReplacer("/", "_", ".", "_").Replace(p.resource) + ".sock"
	for {
		log.Printf("%s: %v; registering again", p.resource, p.serve(folder, endpoint))
		time.Sleep(registerStep)
	}
}
