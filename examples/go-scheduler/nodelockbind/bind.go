// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelockbind

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"haminodelock.test/nodelock"
)

const (
	mostMargin      = 2 * time.Second // of patience, kept for the Binding and one more look
	confirmPatience = time.Second
	releasePatience = 5 * time.Second // after that nobody is told; the release goes on behind
)

// bind is the way of one pod from the queue to its end: acquire, Binding, hand-off or release, and
// where the outcome leaves room for it one more look at the pod.
//
// A lease is ended as soon as the answer of its Binding is known.
type bind struct {
	plugin  *Plugin
	pod     *v1.Pod
	node    string
	arrival time.Time
}

func newBind(plugin *Plugin, pod *v1.Pod, node string) *bind {
	return &bind{plugin: plugin, pod: pod, node: node, arrival: time.Now()}
}

// until is when a step has to be over: a share of the margin before patience ends.
func (b *bind) until(ctx context.Context, share int) (context.Context, context.CancelFunc) {
	patience := b.plugin.args.Patience.Duration
	margin := min(patience/10, mostMargin)
	return context.WithDeadline(ctx, b.arrival.Add(patience-margin/time.Duration(share)))
}

func (b *bind) run(ctx context.Context) *fwk.Status {
	logger := klog.FromContext(ctx).WithValues("pod", klog.KObj(b.pod), "node", b.node)
	outcome, err := b.try(klog.NewContext(ctx, logger))
	count(outcome, time.Since(b.arrival))
	if err != nil {
		logger.V(2).Info("Did not bind the pod", "duration", time.Since(b.arrival), "err", err)
		return fwk.AsStatus(err)
	}
	logger.V(2).Info("Bound the pod", "duration", time.Since(b.arrival))
	return nil
}

func (b *bind) try(ctx context.Context) (string, error) {
	lease, err := b.acquire(ctx)
	if errors.Is(err, nodelock.ErrLost) {
		return b.confirm(ctx, fmt.Errorf("pod %s/%s can't be bound to node %s: %w", b.pod.Namespace,
			b.pod.Name, b.node, err))
	}
	if err != nil {
		return outcomeOf(err), b.explain(err)
	}
	err = b.post(ctx, lease)
	if lostBy := lease.LostError(); lostBy != nil {
		klog.FromContext(ctx).Error(lostBy, "A lock that this process held vanished from its node; "+
			"look who else writes node annotations")
	}
	switch {
	case err == nil:
		_ = lease.HandOff() // fails only if the manager is closed, and then it counts as one
		return outcomeOf(nil), nil
	case errors.Is(err, nodelock.ErrInDoubt):
		_ = lease.HandOff()
	default:
		go giveBack(lease)
	}
	err = fmt.Errorf("could not bind pod %s/%s to node %s: %w", b.pod.Namespace, b.pod.Name, b.node, err)
	if errors.Is(err, nodelock.ErrInDoubt) || errors.Is(err, nodelock.ErrLost) {
		return b.confirm(ctx, err)
	}
	return outcomeOf(err), err
}

func (b *bind) acquire(ctx context.Context) (*nodelock.Lease, error) {
	ctx, cancel := b.until(ctx, 1)
	defer cancel()
	begun := time.Now()
	lease, err := b.plugin.engine.manager.Acquire(ctx, nodelock.Request{Node: b.node,
		Owner: nodelock.Owner{Namespace: b.pod.Namespace, Name: b.pod.Name, UID: string(b.pod.UID)}})
	countWait(time.Since(begun))
	return lease, err
}

func (b *bind) post(ctx context.Context, lease *nodelock.Lease) error {
	ctx, cancel := b.until(ctx, 2)
	defer cancel()
	return b.plugin.engine.client.Bind(ctx, lease)
}

func giveBack(lease *nodelock.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), releasePatience)
	defer cancel()
	_ = lease.Release(ctx)
}

// confirm asks once more before it says err: the pod may be bound here after all.
func (b *bind) confirm(ctx context.Context, err error) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, confirmPatience)
	defer cancel()
	pod, readErr := b.plugin.engine.client.ReadPod(ctx, b.pod.Namespace, b.pod.Name)
	if readErr == nil && pod.Exists && pod.UID == string(b.pod.UID) && pod.Node == b.node {
		return outcomeOf(nil), nil
	}
	return outcomeOf(err), err
}

// explain says whom the pod waited for, in the words that HAMi's users look for.
func (b *bind) explain(err error) error {
	if !errors.Is(err, nodelock.ErrTimedOut) && !errors.Is(err, nodelock.ErrLimit) {
		return fmt.Errorf("could not lock node %s: %w", b.node, err)
	}
	holder := ""
	nodes, lookErr := b.plugin.engine.manager.Snapshot(b.node)
	if lookErr == nil && len(nodes) == 1 {
		for _, slot := range nodes[0].Slots {
			if slot.Owner.Name != "" {
				holder = fmt.Sprintf(" by pod %s/%s (seen for %.1fs)", slot.Owner.Namespace,
					slot.Owner.Name, slot.Age.Seconds())
				break
			}
		}
	}
	return fmt.Errorf("node lock contention: node %s is locked%s: %w", b.node, holder, err)
}
