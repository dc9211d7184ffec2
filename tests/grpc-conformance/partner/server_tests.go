// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// serverTests: grpc-go calls our server.
func serverTests() []test {
	return []test{
		{"server: unary calls of one byte to 16 MB are echoed", serverEcho},
		{"server: a thousand messages of one stream come in order", serverStream},
		{"server: a client that does not read holds the stream back", serverFlood},
		{"server: status and text come through, trailers-only", serverRefuse},
		{"server: a deadline ends the call on both sides", serverDeadline},
		{"server: a cancelled call is gone", serverCancel},
		{"server: unknown methods and services are unimplemented", serverUnknown},
		{"server: a message above the limit is refused, the connection lives", serverTooLarge},
		{"server: compressed messages are unimplemented", serverCompressed},
		{"server: two messages to a unary method are refused", serverTwo},
		{"server: four hundred calls at once are all answered", serverMany},
		{"server: metadata of the client does no harm, too much is refused", serverMetadata},
		{"server: a stop sends GOAWAY, running calls end, and a new server is found", serverGoAway},
		{"server: a device plugin as the kubelet's own types see it, 5000 devices", serverPlugin},
	}
}

func want(err error, code codes.Code) error {
	if status.Code(err) != code {
		return fmt.Errorf("%v, not %v", err, code)
	}
	return nil
}

// served starts a peer and connects to it.
func (w *world) served(options ...grpc.DialOption) (*grpc.ClientConn, context.Context, error) {
	if err := w.start("serve"); err != nil {
		return nil, nil, err
	}
	conn, err := w.dial(options...)
	ctx, _ := context.WithTimeout(context.Background(), patience)
	return conn, ctx, err
}

func serverEcho(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	for _, size := range []int{0, 1, 5, 16383, 16384, 65535, 1 << 20, 16 << 20} {
		message := bytes.Repeat([]byte{byte(size)}, size)
		answer, err := call(ctx, conn, "Echo", message)
		if err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
		if !bytes.Equal(answer, message) {
			return fmt.Errorf("%d bytes came back as %d others", size, len(answer))
		}
	}
	return nil
}

func serverStream(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	message := append([]byte{1000 >> 8, 1000 & 255}, make([]byte, 9000)...)
	s, err := stream(ctx, conn, "Repeat", message)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		var answer []byte
		err := s.RecvMsg(&answer)
		if errors.Is(err, io.EOF) {
			if i != 1000 {
				return fmt.Errorf("%d messages came", i)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(answer, message) {
			return fmt.Errorf("message %d is another", i)
		}
	}
}

func serverFlood(w *world) error {
	conn, ctx, err := w.served(grpc.WithStaticStreamWindowSize(65535))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := stream(ctx, conn, "Flood", []byte{0})
	if err != nil {
		return err
	}
	// Other calls of the connection go on while nobody reads this stream.
	for i := 0; i < 50; i++ {
		if _, err := call(ctx, conn, "Echo", make([]byte, 100000)); err != nil {
			return err
		}
	}
	for i := 0; i < 500; i++ {
		var answer []byte
		if err := s.RecvMsg(&answer); err != nil || len(answer) != 64<<10 {
			return fmt.Errorf("message %d: %d bytes, %v", i, len(answer), err)
		}
	}
	cancel()
	line, err := w.expect("flooded ")
	if err != nil {
		return err
	}
	most, _ := strconv.Atoi(strings.Fields(line)[1])
	if most > 2<<20 {
		return fmt.Errorf("%d bytes waited at once", most)
	}
	return nil
}

func serverRefuse(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	text := "100 % of Grüße: \n\"x\"\t{}; ~"
	for code := 1; code <= 16; code++ {
		_, err := call(ctx, conn, "Refuse", append([]byte{byte(code)}, text...))
		if status.Code(err) != codes.Code(code) || status.Convert(err).Message() != text {
			return fmt.Errorf("code %d came as %v", code, err)
		}
	}
	long := strings.Repeat("a", 5000)
	_, err = call(ctx, conn, "Refuse", append([]byte{5}, long...))
	if got := status.Convert(err).Message(); got != long[:1024] {
		return fmt.Errorf("a long text came as %d bytes", len(got))
	}
	return nil
}

func serverDeadline(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err = call(short, conn, "Keep", []byte("x"))
	if err := want(err, codes.DeadlineExceeded); err != nil {
		return err
	}
	line, err := w.expect("left ")
	if err != nil {
		return err
	}
	if left, _ := strconv.Atoi(strings.Fields(line)[1]); left < 1 || left > 200 {
		return fmt.Errorf("the server saw %q", line)
	}
	if _, err = w.expect("gone"); err != nil {
		return err
	}
	_, err = call(ctx, conn, "Echo", []byte("x"))
	return err
}

func serverCancel(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	if _, err := stream(cancelled, conn, "Keep", []byte("x")); err != nil {
		return err
	}
	if _, err = w.expect("kept"); err != nil {
		return err
	}
	cancel()
	if _, err = w.expect("gone"); err != nil {
		return err
	}
	if err := w.tell("calls"); err != nil {
		return err
	}
	if line, err := w.expect("calls "); err != nil || line != "calls 0" {
		return fmt.Errorf("%q %v", line, err)
	}
	return nil
}

func serverUnknown(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	_, err = call(ctx, conn, "Nothing", []byte("x"))
	if err := want(err, codes.Unimplemented); err != nil {
		return err
	}
	_, err = plugin.NewRegistrationClient(conn).Register(ctx, &plugin.RegisterRequest{})
	return want(err, codes.Unimplemented)
}

func serverTooLarge(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	_, err = call(ctx, conn, "Echo", make([]byte, 17<<20))
	if err := want(err, codes.ResourceExhausted); err != nil {
		return err
	}
	_, err = call(ctx, conn, "Echo", make([]byte, 1<<20))
	return err
}

func serverCompressed(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	_, err = call(ctx, conn, "Echo", make([]byte, 1000), grpc.UseCompressor(gzip.Name))
	return want(err, codes.Unimplemented)
}

func serverTwo(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	description := grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	for _, count := range []int{0, 2, 3} {
		s, err := conn.NewStream(ctx, &description, "/conformance.Peer/Echo", grpc.ForceCodecV2(raw{}))
		if err != nil {
			return err
		}
		message := []byte("x")
		for i := 0; i < count; i++ {
			if err := s.SendMsg(&message); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		if err := s.CloseSend(); err != nil {
			return err
		}
		if err := want(s.RecvMsg(&message), codes.Internal); err != nil {
			return fmt.Errorf("%d messages: %w", count, err)
		}
	}
	return nil
}

func serverMany(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make(chan error, 400)
	for i := 0; i < 400; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			message := bytes.Repeat([]byte{byte(i)}, 1+i*100)
			answer, err := call(ctx, conn, "Echo", message)
			if err == nil && !bytes.Equal(answer, message) {
				err = fmt.Errorf("answers were mixed up")
			}
			if err != nil {
				failures <- err
			}
		}()
	}
	group.Wait()
	if len(failures) != 0 {
		return <-failures
	}
	return nil
}

func serverMetadata(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	some := metadata.AppendToOutgoingContext(ctx, "a-b", "c", "blob-bin", "\x00\x01\xff")
	if _, err := call(some, conn, "Echo", []byte("x")); err != nil {
		return err
	}
	many := ctx
	for i := 0; i < 100; i++ {
		many = metadata.AppendToOutgoingContext(many, fmt.Sprintf("field-%d", i), "x")
	}
	_, err = call(many, conn, "Echo", []byte("x"))
	if err := want(err, codes.ResourceExhausted); err != nil {
		return err
	}
	_, err = call(ctx, conn, "Echo", []byte("x"))
	return err
}

func serverGoAway(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	kept := make(chan error, 1)
	go func() {
		answer, err := call(ctx, conn, "Keep", []byte("x"))
		if err == nil && string(answer) != "end" {
			err = fmt.Errorf("answered %q", answer)
		}
		kept <- err
	}()
	if _, err = w.expect("kept"); err != nil {
		return err
	}
	if err := w.tell("stop"); err != nil {
		return err
	}
	if _, err = w.expect("stopped"); err != nil {
		return err
	}
	// Nobody listens there now: a new call fails, the old one has not ended.
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err = call(short, conn, "Echo", []byte("x")); err == nil {
		return fmt.Errorf("a call was answered after the stop")
	}
	select {
	case err := <-kept:
		return fmt.Errorf("the running call ended: %v", err)
	default:
	}
	if err := w.tell("end"); err != nil {
		return err
	}
	if err := <-kept; err != nil {
		return err
	}
	second := &world{program: w.program, socket: w.socket}
	defer second.close()
	if err := second.start("serve"); err != nil {
		return err
	}
	_, err = call(ctx, conn, "Echo", []byte("x"), grpc.WaitForReady(true))
	return err
}

func serverPlugin(w *world) error {
	conn, ctx, err := w.served()
	if err != nil {
		return err
	}
	client := plugin.NewDevicePluginClient(conn)
	options, err := client.GetDevicePluginOptions(ctx, &plugin.Empty{})
	if err != nil || !options.PreStartRequired || options.GetPreferredAllocationAvailable {
		return fmt.Errorf("options %v %v", options, err)
	}
	watch, err := client.ListAndWatch(ctx, &plugin.Empty{})
	if err != nil {
		return err
	}
	list, err := watch.Recv()
	if err != nil || len(list.Devices) != 5000 || list.Devices[4999].ID != "device-4999" ||
		list.Devices[0].Health != plugin.Healthy {
		return fmt.Errorf("%d devices, %v", len(list.GetDevices()), err)
	}
	list, err = watch.Recv()
	if err != nil || len(list.Devices) != 1 || list.Devices[0].Health != plugin.Unhealthy {
		return fmt.Errorf("%v, %v", list, err)
	}
	if _, err = watch.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the list ended by %v", err)
	}
	answer, err := client.Allocate(ctx, &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIds: []string{"a", "b"}}}})
	if err != nil || len(answer.ContainerResponses) != 1 {
		return fmt.Errorf("%v, %v", answer, err)
	}
	one := answer.ContainerResponses[0]
	if one.Envs["a"] != "b" || one.Annotations["a"] != "b" || one.Mounts[0].HostPath != "a" ||
		!one.Mounts[0].ReadOnly || one.Devices[0].ContainerPath != "a" ||
		one.Devices[0].Permissions != "rw" || one.CdiDevices[0].Name != "b" {
		return fmt.Errorf("%v", one)
	}
	if _, err = client.PreStartContainer(ctx,
		&plugin.PreStartContainerRequest{DevicesIds: []string{"a", "b"}}); err != nil {
		return err
	}
	_, err = client.GetPreferredAllocation(ctx, &plugin.PreferredAllocationRequest{})
	return want(err, codes.Unimplemented)
}
