// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/internal/native"
	"haminodelock.test/nodelock/kubernetes"
)

func TestMain(m *testing.M) {
	code := m.Run()
	for deadline := time.Now().Add(patience); native.Handles() != 0; runtime.GC() {
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "left: %d handles\n", native.Handles())
			code = 1
			break
		}
	}
	os.Exit(code)
}

const patience = 20 * time.Second

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// server answers as a test says: by "METHOD path" without the query.
type server struct {
	*httptest.Server
	mutex    sync.Mutex
	answers  map[string]func(body []byte) (status int, answer any)
	requests []string
}

func newServer(t testing.TB) *server {
	made := &server{answers: map[string]func([]byte) (int, any){}}
	made.Server = httptest.NewServer(http.HandlerFunc(made.serve))
	t.Cleanup(made.Close)
	return made
}

func (s *server) serve(writer http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	name := request.Method + " " + request.URL.Path
	s.mutex.Lock()
	s.requests = append(s.requests, name)
	answer := s.answers[name]
	s.mutex.Unlock()
	status, object := 404, any(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
		"reason": "NotFound", "code": 404, "message": "there is nothing here"})
	if answer != nil {
		status, object = answer(body)
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	_ = json.NewEncoder(writer).Encode(object)
}

func (s *server) on(name string, answer func(body []byte) (int, any)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.answers[name] = answer
}

func newClient(t testing.TB, url string) *kubernetes.Client {
	t.Helper()
	client, err := kubernetes.New(kubernetes.Config{Server: url, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func pod(version string, node string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "a", "namespace": "default", "uid": "uid-a",
			"resourceVersion": version,
			"annotations":     map[string]any{"hami.io/bind-phase": "allocating"}},
		"spec": map[string]any{"schedulerName": "mine", "priority": 7, "nodeName": node,
			"containers": []any{map[string]any{"name": "main", "resources": map[string]any{
				"limits": map[string]any{"nvidia.com/gpu": "1"}}}}},
		"status": map[string]any{"phase": "Pending"}}
}

func TestAnyRequestIsAnsweredWhateverItsStatus(t *testing.T) {
	s := newServer(t)
	s.on("PUT /thing", func(body []byte) (int, any) {
		return 201, map[string]any{"got": string(body)}
	})
	client := newClient(t, s.URL)
	answer, err := client.Do(soon(t), kubernetes.Request{Method: kubernetes.Put, Path: "/thing",
		Body: []byte(`"x"`)})
	if err != nil || answer.Status != 201 || !strings.Contains(string(answer.Body), `\"x\"`) {
		t.Errorf("answer %+v %s, %v", answer, answer.Body, err)
	}
	answer, err = client.Do(soon(t), kubernetes.Request{Path: "/nothing"})
	if err != nil || answer.Status != 404 {
		t.Errorf("answer %+v, %v", answer, err)
	}
	stats, err := client.Stats()
	if err != nil || stats.Requests != 2 || stats.Answers[2] != 1 || stats.Answers[4] != 1 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	if client.Server() != s.URL {
		t.Errorf("server %q", client.Server())
	}
}

func TestAPodIsReadWithWhatASchedulerAsks(t *testing.T) {
	s := newServer(t)
	s.on("GET /api/v1/namespaces/default/pods/a", func([]byte) (int, any) { return 200, pod("5", "n1") })
	client := newClient(t, s.URL)
	found, err := client.ReadPod(soon(t), "default", "a")
	if err != nil || !found.Exists || found.UID != "uid-a" || found.Node != "n1" ||
		found.Version != "5" || found.Phase != nodelock.PhaseAllocating ||
		found.SchedulerName != "mine" || found.Priority != 7 || len(found.Resources) != 1 ||
		found.Resources[0] != "nvidia.com/gpu" {
		t.Errorf("pod %+v, %v", found, err)
	}
	if found, err = client.ReadPod(soon(t), "default", "b"); err != nil || found.Exists {
		t.Errorf("pod %+v, %v", found, err)
	}
}

// lease takes a lock in memory, for the Binding to be made of.
func lease(t testing.TB) *nodelock.Lease {
	t.Helper()
	store, err := nodelock.NewMemory(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	facts := nodelock.OwnerFacts{Exists: true, UID: "uid-a"}
	if err := store.PutOwner("default", "a", facts); err != nil {
		t.Fatal(err)
	}
	manager, err := nodelock.New(nodelock.Config{Transport: store.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = manager.Close(soon(t)) })
	held, err := manager.Acquire(soon(t), nodelock.Request{Node: "n1",
		Owner: nodelock.Owner{Namespace: "default", Name: "a", UID: "uid-a"}})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func TestABindingCarriesUIDAndFence(t *testing.T) {
	s := newServer(t)
	bodies := make(chan []byte, 10)
	s.on("POST /api/v1/namespaces/default/pods/a/binding", func(body []byte) (int, any) {
		bodies <- body
		return 201, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}
	})
	client := newClient(t, s.URL)
	held := lease(t)
	if err := client.Bind(soon(t), held); err != nil {
		t.Fatal(err)
	}
	posted := <-bodies
	for _, text := range []string{`"uid-a"`, `"n1"`, fmt.Sprintf(`"%d"`, held.Fence()), "allocating"} {
		if !strings.Contains(string(posted), text) {
			t.Errorf("the Binding lacks %s: %s", text, posted)
		}
	}
	if err := held.HandOff(); err != nil {
		t.Error(err)
	}
	if err := client.Bind(soon(t), held); err != nodelock.ErrConsumed {
		t.Errorf("a lease that is handed off was bound: %v", err)
	}
}

func TestABindingThatIsRefusedTellsTheServersReason(t *testing.T) {
	s := newServer(t)
	s.on("POST /api/v1/namespaces/default/pods/a/binding", func([]byte) (int, any) {
		return 403, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
			"reason": "Forbidden", "message": "not on a Monday"}
	})
	client := newClient(t, s.URL)
	held := lease(t)
	defer held.Release(soon(t))
	err := client.Bind(soon(t), held)
	var detail *nodelock.Error
	if !errors.Is(err, nodelock.ErrAccess) || !errors.As(err, &detail) || detail.Operation != "bind" ||
		!strings.Contains(err.Error(), "Monday") {
		t.Errorf("error %v", err)
	}
}

func TestADeadlineThatIsPastSendsNothing(t *testing.T) {
	s := newServer(t)
	client := newClient(t, s.URL)
	held := lease(t)
	defer held.Release(soon(t))
	past, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	if err := client.Bind(past, held); !errors.Is(err, nodelock.ErrTimedOut) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.requests) != 0 {
		t.Errorf("sent %v", s.requests)
	}
}

func TestAWrongLoginIsRefusedWithTheNameOfWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\nclusters: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		config kubernetes.Config
		code   nodelock.Code
		text   string
	}{
		{kubernetes.Config{Kubeconfig: file}, nodelock.ErrInvalid, file},
		{kubernetes.Config{Server: "http://192.0.2.1:80"}, nodelock.ErrInvalid, "server"},
		{kubernetes.Config{Server: "http://127.0.0.1:80", InFlight: -1}, nodelock.ErrInvalid, "limit"},
		{kubernetes.Config{Server: "https://127.0.0.1:80", CAFile: file + "-none"}, nodelock.ErrAccess,
			file + "-none"},
	} {
		_, err := kubernetes.New(one.config)
		if !errors.Is(err, one.code) || !strings.Contains(err.Error(), one.text) {
			t.Errorf("%+v: error %v", one.config, err)
		}
	}
}

func TestAClientLivesAsLongAsItsTransports(t *testing.T) {
	s := newServer(t)
	client, err := kubernetes.New(kubernetes.Config{Server: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := client.NewTransport(kubernetes.TransportConfig{NoWatch: true,
		SchedulerNames: []string{"mine"}})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := client.NewLeaseTransport(kubernetes.LeaseTransportConfig{Namespace: "locks",
		NoWatch: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.NewLeaseTransport(kubernetes.LeaseTransportConfig{}); !errors.Is(err,
		nodelock.ErrInvalid) {
		t.Errorf("a transport without a namespace: %v", err)
	}
	client.Close()
	edits := []nodelock.Edit{{Action: nodelock.Read, Key: nodelock.DefaultKey}}
	if result := transport.Call(soon(t), "n1", edits, ""); !errors.Is(result.Err, nodelock.ErrNoNode) {
		t.Errorf("result %+v", result)
	}
	if !kubernetes.IsSynced(transport) {
		t.Error("a transport without a watch is always in step")
	}
	transport.Close()
	leases.Close()
	client.Close() // a second time is nothing
	transport.Close()
	if _, err := client.Do(soon(t), kubernetes.Request{Path: "/"}); !errors.Is(err, nodelock.ErrClosed) {
		t.Errorf("after the last one was closed: %v", err)
	}
	if kubernetes.IsSynced(transport) {
		t.Error("a closed transport is not in step")
	}
}
