// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"haminodelock.test/kubelet/cluster"
)

const (
	lockKey       = "hami.io/mutex.lock"
	toAllocateKey = "hami.io/vgpu-devices-to-allocate"
)

// A vendor's plugin as there are many: it believes the lock, takes the first devices that are
// left in the annotation of the pod named there, and never writes or releases anything.
type vendor struct {
	server *cluster.Server
	node   string
}

func (v *vendor) decide(ids [][]string) (devices [][]string, name string, err error) {
	lock, err := v.server.NodeAnnotation(v.node, lockKey)
	if err != nil {
		return nil, "", err
	}
	words := strings.Split(lock, ",")
	if len(words) != 3 {
		return nil, "", fmt.Errorf("the lock '%s' names no pod", lock)
	}
	name = words[1] + "/" + words[2]
	pod, err := v.server.Pod(words[1], words[2])
	if err != nil {
		return nil, name, err
	}
	left := cluster.Devices(pod.Metadata.Annotations[toAllocateKey])
	for _, container := range ids {
		for len(left) > 0 && len(left[0]) == 0 {
			left = left[1:]
		}
		if len(left) == 0 || len(left[0]) != len(container) {
			return nil, name, fmt.Errorf("%d ids for what is left: %v", len(container), left)
		}
		devices = append(devices, left[0])
		left = left[1:]
	}
	return devices, name, nil
}
