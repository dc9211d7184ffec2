// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelockbind

import (
	"os"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

func TestTheConfigurationInTheReadmeIsTakenByTheSchedulerAndThePlugin(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("README.md has no configuration")
	}
	object, err := runtime.Decode(scheme.Codecs.UniversalDecoder(), block[1])
	if err != nil {
		t.Fatal(err)
	}
	profile := object.(*config.KubeSchedulerConfiguration).Profiles[0]
	if enabled := profile.Plugins.Bind.Enabled; len(enabled) != 2 || enabled[0].Name != Name {
		t.Errorf("enabled are %v", enabled)
	}
	for _, one := range profile.PluginConfig {
		if one.Name != Name {
			continue
		}
		found, err := readArgs(one.Args, profile.SchedulerName)
		if err != nil || found.ManagedResources[0] != "nvidia.com/gpu" || found.Kubeconfig == "" {
			t.Errorf("args %+v, %v", found, err)
		}
		return
	}
	t.Errorf("no arguments for %s", Name)
}
