// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelockbind

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
)

// handle is as much of the framework as the plugin asks for.
type handle struct {
	fwk.Handle
	profile string
}

func (h *handle) ProfileName() string { return h.profile }

func args(text string) runtime.Object {
	return &runtime.Unknown{Raw: []byte(text), ContentType: runtime.ContentTypeJSON}
}

func TestArgumentsHaveDefaultsAndUnknownWordsAreRefused(t *testing.T) {
	found, err := readArgs(nil, "mine")
	if err != nil || found.Patience.Duration != 30*time.Second || found.SchedulerNames[0] != "mine" {
		t.Errorf("args %+v, %v", found, err)
	}
	found, err = readArgs(args(`{"patience": "2s", "schedulerNames": ["a", "b"], "lockKey": "x/y"}`), "a")
	if err != nil || found.Patience.Duration != 2*time.Second || len(found.SchedulerNames) != 2 ||
		found.LockKey != "x/y" {
		t.Errorf("args %+v, %v", found, err)
	}
	for _, text := range []string{`{"patient": "2s"}`, `{"patience": "2"}`, `{"patience": "-1s"}`,
		`{"patience": "1ms"}`, `[]`} {
		if _, err := readArgs(args(text), "a"); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	if _, err := readArgs(&v1.Pod{}, "a"); err == nil {
		t.Error("a pod was taken for arguments")
	}
}

func podThatAsks(name string, count string) *v1.Pod {
	list := v1.ResourceList{v1.ResourceName(name): resource.MustParse(count)}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Limits: list}}}}}
}

func TestOnlyPodsThatAskForADeviceAreManaged(t *testing.T) {
	plugin := &Plugin{args: &Args{ManagedResources: []string{"nvidia.com/gpu"}}}
	inInit := podThatAsks("cpu", "1")
	inInit.Spec.InitContainers = podThatAsks("nvidia.com/gpu", "2").Spec.Containers
	for _, one := range []struct {
		pod  *v1.Pod
		want bool
	}{
		{podThatAsks("nvidia.com/gpu", "1"), true},
		{podThatAsks("nvidia.com/gpu", "0"), false},
		{podThatAsks("cpu", "1"), false},
		{inInit, true},
		{&v1.Pod{}, false},
	} {
		if plugin.isManaged(one.pod) != one.want {
			t.Errorf("%+v: not %v", one.pod.Spec, one.want)
		}
	}
	plugin.args.ManagedResources = nil
	if !plugin.isManaged(&v1.Pod{}) {
		t.Error("without a list all pods are managed")
	}
}

// kubeconfig is a login to a server that knows nothing.
func kubeconfig(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		writer.WriteHeader(404)
		fmt.Fprint(writer, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":404,`+
			`"reason":"NotFound","message":"nothing is here"}`)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{"token":"t"}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func newPlugin(t *testing.T, profile, text string) *Plugin {
	t.Helper()
	made, err := New(context.Background(), args(text), &handle{profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*Plugin)
}

func TestABindThatFailsSaysWhyAndIsCounted(t *testing.T) {
	plugin := newPlugin(t, "a", fmt.Sprintf(
		`{"kubeconfig": %q, "managedResources": ["nvidia.com/gpu"], "patience": "5s"}`, kubeconfig(t)))
	ctx := context.Background()
	if status := plugin.Bind(ctx, nil, podThatAsks("cpu", "1"), "n1"); !status.IsSkip() {
		t.Errorf("a pod without a device: %v", status)
	}
	status := plugin.Bind(ctx, nil, podThatAsks("nvidia.com/gpu", "1"), "n1")
	if status.Code() != fwk.Error || !strings.Contains(status.Message(), "n1") {
		t.Errorf("status %v", status)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	status = plugin.Bind(gone, nil, podThatAsks("nvidia.com/gpu", "1"), "n1")
	if status.Code() != fwk.Error || !strings.Contains(status.Message(), "cancelled") {
		t.Errorf("status %v", status)
	}
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := 0.0
	for _, family := range families {
		if family.GetName() == prefix+"binds_total" {
			for _, one := range family.GetMetric() {
				counted += one.GetCounter().GetValue()
			}
		}
	}
	if counted != 2 {
		t.Errorf("%v binds were counted", counted)
	}
	if err := plugin.Close(); err != nil {
		t.Error(err)
	}
}

func TestProfilesWithEqualArgumentsShareOneManager(t *testing.T) {
	file := kubeconfig(t)
	text := fmt.Sprintf(`{"kubeconfig": %q, "schedulerNames": ["a", "b"]}`, file)
	first, second := newPlugin(t, "a", text), newPlugin(t, "b", text)
	third := newPlugin(t, "c", fmt.Sprintf(`{"kubeconfig": %q}`, file))
	if first.engine != second.engine || first.engine == third.engine {
		t.Error("one manager for each two equal arguments")
	}
	for _, plugin := range []*Plugin{first, third, second} {
		if err := plugin.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(engines) != 0 {
		t.Errorf("%d managers are left", len(engines))
	}
}

func TestAWrongLoginEndsTheSchedulersStart(t *testing.T) {
	_, err := New(context.Background(), args(`{"kubeconfig": "/nowhere/kubeconfig"}`), &handle{})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/kubeconfig") {
		t.Errorf("error %v", err)
	}
}
