// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
)

// world is one peer process, and either a connection to it or a server for it.
type world struct {
	program string
	socket  string
	peer    *exec.Cmd
	input   io.WriteCloser
	lines   chan string
	servers []*grpc.Server
	conns   []*grpc.ClientConn
}

func (w *world) start(mode string) error {
	w.peer = exec.Command(w.program, mode, w.socket)
	w.peer.Stderr = os.Stderr
	input, err := w.peer.StdinPipe()
	if err != nil {
		return err
	}
	output, err := w.peer.StdoutPipe()
	if err != nil {
		return err
	}
	w.input = input
	w.lines = make(chan string, 10000)
	if err := w.peer.Start(); err != nil {
		return err
	}
	go func() {
		scanner := bufio.NewScanner(output)
		scanner.Buffer(make([]byte, 1<<16), 1<<20)
		for scanner.Scan() {
			w.lines <- scanner.Text()
		}
		close(w.lines)
	}()
	_, err = w.expect("ready")
	return err
}

func (w *world) tell(format string, arguments ...any) error {
	_, err := fmt.Fprintf(w.input, format+"\n", arguments...)
	return err
}

// expect returns the next line that begins so; what comes before is thrown away.
func (w *world) expect(prefix string) (string, error) {
	timer := time.After(patience)
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				return "", fmt.Errorf("the peer ended, %q did not come", prefix)
			}
			if strings.HasPrefix(line, prefix) {
				return line, nil
			}
		case <-timer:
			return "", fmt.Errorf("%q did not come", prefix)
		}
	}
}

func (w *world) close() {
	for _, one := range w.conns {
		one.Close()
	}
	for _, one := range w.servers {
		one.Stop()
	}
	if w.peer == nil || w.peer.Process == nil {
		return
	}
	w.input.Close()
	ended := make(chan error, 1)
	go func() { ended <- w.peer.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		w.peer.Process.Kill()
		<-ended
	}
}

// raw passes bytes on as they are.
type raw struct{}

func (raw) Name() string { return "raw" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// dial connects to the peer's server.
func (w *world) dial(options ...grpc.DialOption) (*grpc.ClientConn, error) {
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(64<<20)))
	conn, err := grpc.NewClient("unix://"+w.socket, options...)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

// call is one unary call with bytes.
func call(ctx context.Context, conn *grpc.ClientConn, method string, message []byte,
	options ...grpc.CallOption) ([]byte, error) {
	var answer []byte
	options = append(options, grpc.ForceCodecV2(raw{}))
	err := conn.Invoke(ctx, "/conformance.Peer/"+method, &message, &answer, options...)
	return answer, err
}

// stream starts a call with any number of answers.
func stream(ctx context.Context, conn *grpc.ClientConn, method string,
	message []byte) (grpc.ClientStream, error) {
	description := grpc.StreamDesc{ServerStreams: true}
	s, err := conn.NewStream(ctx, &description, "/conformance.Peer/"+method, grpc.ForceCodecV2(raw{}))
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(&message); err != nil {
		return nil, err
	}
	return s, s.CloseSend()
}

// listen serves the peer's calls.
func (w *world) listen(server *grpc.Server) error {
	listener, err := net.Listen("unix", w.socket)
	if err != nil {
		return err
	}
	w.servers = append(w.servers, server)
	go server.Serve(listener)
	return nil
}
