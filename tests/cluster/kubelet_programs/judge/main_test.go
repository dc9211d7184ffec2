// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"haminodelock.test/kubelet/cluster"
)

const (
	resource   = "nvidia.com/gpu"
	annotation = "hami.io/vgpu-devices-allocated"
	key        = "/c0/" + resource
)

// Two containers, of which the second asks two devices, and what its annotation says.
func asking(t *testing.T, name, text string) *cluster.Pod {
	t.Helper()
	pod := &cluster.Pod{}
	err := json.Unmarshal([]byte(`{"spec":{"containers":[{"name":"none"},
		{"name":"c0","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}`), pod)
	if err != nil {
		t.Fatal(err)
	}
	pod.Metadata.Namespace, pod.Metadata.Name = "default", name
	pod.Metadata.Annotations = map[string]string{annotation: text}
	return pod
}

func newJudge(ids ...string) *judge {
	return &judge{held: map[string][]string{"default/a" + key: ids, "default/b" + key: ids},
		owners: map[string]string{}, given: map[string]string{}}
}

func TestOnlyExactlyTheDevicesOfTheAnnotationAreRight(t *testing.T) {
	const said = ";GPU-7,NVIDIA,1,1:GPU-3,NVIDIA,1,1:;"
	for _, one := range []struct {
		name, text, devices, ids string
		isRight                  bool
	}{
		{"as said", said, "GPU-7,GPU-3", "x,y", true},
		{"in another order", said, "GPU-3,GPU-7", "y,x", true},
		{"another's", said, "GPU-3,GPU-8", "x,y", false},
		{"one too few", said, "GPU-3", "x,y", false},
		{"one too many", said, "GPU-3,GPU-7,GPU-8", "x,y", false},
		{"none", said, "", "x,y", false},
		{"the answer for other ids", said, "GPU-7,GPU-3", "x,z", false},
		{"less said than asked", ";GPU-3,NVIDIA,1,1:;", "GPU-3", "x,y", false},
		{"of another container", "GPU-7,NVIDIA,1,1:GPU-3,NVIDIA,1,1:;;", "GPU-7,GPU-3", "x,y", false},
	} {
		err := newJudge("x", "y").look(asking(t, "a", one.text), 1,
			vendor{resource, annotation, "V"}, map[string]string{"V": one.devices, "V_IDS": one.ids})
		if (err == nil) != one.isRight {
			t.Errorf("%s: %v", one.name, err)
		}
	}
}

func TestADeviceInTwoContainersIsWrong(t *testing.T) {
	const said = ";GPU-7,NVIDIA,1,1:GPU-3,NVIDIA,1,1:;"
	j := newJudge("x", "y")
	environment := map[string]string{"V": "GPU-7,GPU-3", "V_IDS": "x,y"}
	first := j.look(asking(t, "a", said), 1, vendor{resource, annotation, "V"}, environment)
	second := j.look(asking(t, "b", said), 1, vendor{resource, annotation, "V"}, environment)
	if first != nil || second == nil {
		t.Errorf("first %v, second %v", first, second)
	}
}

func TestAContainerThatTheKubeletHoldsTooLittleForIsWrong(t *testing.T) {
	err := newJudge("x").look(asking(t, "a", ";GPU-7,NVIDIA,1,1:GPU-3,NVIDIA,1,1:;"), 1,
		vendor{resource, annotation, "V"}, map[string]string{"V": "GPU-7,GPU-3"})
	if err == nil {
		t.Error("one id for two devices was right")
	}
}
