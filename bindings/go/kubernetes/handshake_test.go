// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes_test

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/kubernetes"
)

const devices = "hami.io/vgpu-devices-to-allocate"

// nodeSide is a server with one node and one pod on it, that was bound under HAMi's own lock.
func nodeSide(t *testing.T) (*server, *kubernetes.Handshake) {
	s := newServer(t)
	bound := pod("5", "n1")
	bound["metadata"].(map[string]any)["annotations"] = map[string]any{
		"hami.io/bind-phase": "allocating", "hami.io/vgpu-node": "n1",
		"hami.io/bind-time": "1700000000", devices: "GPU-1,NVIDIA,1000,10:GPU-2,NVIDIA,2000,20:;"}
	container := bound["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	container["resources"] = map[string]any{"limits": map[string]any{"nvidia.com/gpu": "2"}}
	s.on("GET /api/v1/pods", func([]byte) (int, any) {
		return 200, map[string]any{"kind": "PodList", "apiVersion": "v1",
			"metadata": map[string]any{"resourceVersion": "9"}, "items": []any{bound}}
	})
	s.on("GET /api/v1/nodes/n1", func([]byte) (int, any) {
		return 200, map[string]any{"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{
			"name": "n1", "resourceVersion": "8", "annotations": map[string]any{
				nodelock.DefaultKey: time.Now().UTC().Format(time.RFC3339) + ",default,a"}}}
	})
	s.on("GET /api/v1/namespaces/default/pods/a", func([]byte) (int, any) { return 200, bound })
	handshake, err := newClient(t, s.URL).NewHandshake(kubernetes.HandshakeConfig{Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handshake.Close)
	return s, handshake
}

func begin(t *testing.T, handshake *kubernetes.Handshake) *kubernetes.Job {
	t.Helper()
	job, err := handshake.Begin(soon(t), "nvidia.com/gpu", []string{"x", "y"})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestAnAllocateIsForThePodThatHoldsTheLock(t *testing.T) {
	s, handshake := nodeSide(t)
	job := begin(t, handshake)
	found := job.Containers()
	if job.Owner() != (nodelock.Owner{Namespace: "default", Name: "a", UID: "uid-a"}) ||
		job.Fence() != 0 || len(found) != 1 || found[0].Name != "main" || len(found[0].Devices) != 2 ||
		found[0].Devices[1] != (kubernetes.Device{UUID: "GPU-2", Type: "NVIDIA", MemoryMiB: 2000,
			CorePercent: 20}) {
		t.Errorf("job %+v %+v", job, found)
	}
	patches := make(chan string, 10)
	patch := func(body []byte) (int, any) {
		patches <- string(body)
		return 200, map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{
			"name": "a", "namespace": "default", "uid": "uid-a", "resourceVersion": "10"}}
	}
	s.on("PATCH /api/v1/namespaces/default/pods/a", patch)
	s.on("PATCH /api/v1/nodes/n1", patch)
	if err := job.Finish(soon(t)); err != nil {
		t.Fatal(err)
	}
	if text := <-patches; !strings.Contains(text, "success") {
		t.Errorf("the pod was patched by %s", text)
	}
	if text := <-patches; !strings.Contains(text, "mutex.lock") {
		t.Errorf("the node was patched by %s", text)
	}
	if err := job.Finish(soon(t)); err != nodelock.ErrConsumed {
		t.Errorf("a second finish answered %v", err)
	}
	stats, err := handshake.Stats()
	if err != nil || stats.Begins != 1 || stats.Succeeded != 1 || stats.Released != 1 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}

func TestAnAllocateThatFitsNobodyIsRefused(t *testing.T) {
	_, handshake := nodeSide(t)
	_, err := handshake.Begin(soon(t), "nvidia.com/gpu", []string{"x", "y", "z"})
	if !errors.Is(err, nodelock.ErrLost) {
		t.Errorf("too many devices: %v", err)
	}
	if _, err = handshake.Begin(soon(t), "amd.com/gpu", []string{"x"}); !errors.Is(err,
		nodelock.ErrInvalid) {
		t.Errorf("a resource of no vendor: %v", err)
	}
}

func TestADroppedJobWritesNothingAndAForgottenOneIsDroppedWithAWarning(t *testing.T) {
	var mutex sync.Mutex
	var log strings.Builder
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(lockedWriter{&mutex, &log}, nil)))
	defer slog.SetDefault(previous)
	s, handshake := nodeSide(t)
	if err := begin(t, handshake).Drop(); err != nil {
		t.Error(err)
	}
	_ = begin(t, handshake)
	warned := func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return strings.Contains(log.String(), "without Finish")
	}
	for deadline := time.Now().Add(patience); !warned(); runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("nobody was warned")
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, request := range s.requests {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("sent %s", request)
		}
	}
}

type lockedWriter struct {
	mutex *sync.Mutex
	text  *strings.Builder
}

func (w lockedWriter) Write(line []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.text.Write(line)
}

func TestRecoveringFreesNothingThatIsStillWanted(t *testing.T) {
	s, handshake := nodeSide(t)
	if err := handshake.Recover(soon(t)); err != nil {
		t.Error(err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, request := range s.requests {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("sent %s", request)
		}
	}
}
