// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Package nodelockbind is a Bind plugin of the scheduler framework: it takes the node's lock for a pod
// with devices, binds the pod, and leaves the lock standing until the device plugin has served it.
package nodelockbind

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the plugin's in the scheduler's configuration.
const Name = "NodeLockBind"

// Plugin binds the pods of one profile.
type Plugin struct {
	args   *Args
	engine *engine
}

var _ fwk.BindPlugin = (*Plugin)(nil)

// New makes the plugin for one profile; app.WithPlugin wants it.
func New(_ context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := readArgs(object, handle.ProfileName())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	registerMetrics()
	engine, err := useEngine(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	return &Plugin{args: args, engine: engine}, nil
}

// Name is the plugin's.
func (p *Plugin) Name() string { return Name }

// Close ends the plugin; the framework calls it when the scheduler stops.
func (p *Plugin) Close() error {
	return p.engine.release()
}

// isManaged tells whether a pod asks for a device.
func (p *Plugin) isManaged(pod *v1.Pod) bool {
	if len(p.args.ManagedResources) == 0 {
		return true
	}
	asks := func(container v1.Container) bool {
		for _, list := range []v1.ResourceList{container.Resources.Limits, container.Resources.Requests} {
			for name, count := range list {
				if !count.IsZero() && slices.Contains(p.args.ManagedResources, string(name)) {
					return true
				}
			}
		}
		return false
	}
	return slices.ContainsFunc(pod.Spec.Containers, asks) ||
		slices.ContainsFunc(pod.Spec.InitContainers, asks)
}

// Bind binds the pod under the node's lock. The framework calls it in a goroutine of each pod, so it may
// wait; pods that ask for no device are skipped, for the next Bind plugin.
func (p *Plugin) Bind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	if !p.isManaged(pod) {
		return fwk.NewStatus(fwk.Skip)
	}
	return newBind(p, pod, nodeName).run(ctx)
}
