// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelockbind

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Args is what stands in the scheduler's configuration:
//
//	pluginConfig:
//	- name: NodeLockBind
//	  args:
//	    kubeconfig: /etc/kubernetes/scheduler.conf
//	    managedResources: [nvidia.com/gpu]
//	    patience: 30s
//
// What is left out has the default that is named.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// Kubeconfig is the login of the lock's own client. Without one: KUBECONFIG, ~/.kube/config, or
	// the service account of the pod, in this order.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Context of the kubeconfig; its current one.
	Context string `json:"context,omitempty"`
	// ManagedResources: pods that ask for one of these are bound under the lock, others are left to
	// the next Bind plugin. Empty: all pods.
	ManagedResources []string `json:"managedResources,omitempty"`
	// SchedulerNames: unbound pods of these are watched, so that they are known without a read. The
	// profile's name. Profiles with equal arguments share one queue.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// LockKey is the node's annotation; hami.io/mutex.lock.
	LockKey string `json:"lockKey,omitempty"`
	// Patience is how long a bind may take in all, the wait for the lock included; 30s.
	Patience metav1.Duration `json:"patience,omitempty"`
	// HoldLimit is how long a pod may hold the lock unbound; 15s.
	HoldLimit metav1.Duration `json:"holdLimit,omitempty"`
	// LockExpire is the age that decides about locks whose owners can't be judged otherwise; 5m.
	LockExpire metav1.Duration `json:"lockExpire,omitempty"`
	// StallLimit: waiters behind a holder that stands this long without progress fail; they wait on.
	StallLimit metav1.Duration `json:"stallLimit,omitempty"`
	// ExpireBoundOwners takes over by age locks whose pods still wait for Allocate. Dangerous; false.
	ExpireBoundOwners bool `json:"expireBoundOwners,omitempty"`
}

const (
	defaultPatience = 30 * time.Second
	leastPatience   = 100 * time.Millisecond
	mostPatience    = time.Hour
)

// readArgs decodes and checks. A word that is not known is refused: it would be one that was misspelt.
func readArgs(object runtime.Object, profile string) (*Args, error) {
	args := &Args{}
	if object != nil {
		raw, ok := object.(*runtime.Unknown)
		if !ok {
			return nil, fmt.Errorf("its args are of type %T", object)
		}
		if raw.Raw != nil {
			if err := yaml.UnmarshalStrict(raw.Raw, args); err != nil {
				return nil, fmt.Errorf("its args can't be read: %w", err)
			}
		}
	}
	if args.Patience.Duration == 0 {
		args.Patience.Duration = defaultPatience
	}
	if args.Patience.Duration < leastPatience || args.Patience.Duration > mostPatience {
		return nil, fmt.Errorf("patience must be %v to %v", leastPatience, mostPatience)
	}
	if len(args.SchedulerNames) == 0 {
		args.SchedulerNames = []string{profile}
	}
	return args, nil
}

// key is the same for equal arguments.
func (a *Args) key() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts, numbers and lists of texts
	}
	return string(text)
}
