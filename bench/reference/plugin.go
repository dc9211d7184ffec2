// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

const (
	nodeKey       = "hami.io/vgpu-node"
	phaseKey      = "hami.io/bind-phase"
	bindTimeKey   = "hami.io/bind-time"
	toAllocateKey = "hami.io/vgpu-devices-to-allocate"
	allocatedKey  = "hami.io/vgpu-devices-allocated"
)

// plugin is what a device plugin does around an Allocate. The simulated kubelet asks whose
// Allocate it is, lets the time of one pass, and says that it is over.
type plugin struct {
	client *client
	locks  *locks
	node   string
	mutex  sync.Mutex
	next   int
	open   map[string]meta
}

// find goes by the lock, and guesses without one.
func (p *plugin) find() (meta, error) {
	node, err := p.client.get(nodePath(p.node))
	if err != nil {
		return meta{}, err
	}
	if value, isLocked := node.Metadata.Annotations[lockKey]; isLocked {
		holder, err := parse(value)
		if err != nil {
			return meta{}, err
		}
		if holder.known {
			pod, err := p.client.get(podPath(holder.namespace, holder.name))
			if err != nil {
				return meta{}, err
			}
			return pod.Metadata, nil
		}
	}
	var list struct{ Items []object }
	err = p.client.call(http.MethodGet, "/api/v1/pods?fieldSelector=spec.nodeName%3D"+p.node, "",
		nil, &list)
	if err != nil {
		return meta{}, err
	}
	for _, pod := range list.Items {
		notes := pod.Metadata.Annotations
		if pod.Status.Phase == "Pending" && notes[bindTimeKey] != "" && notes[nodeKey] == p.node &&
			(notes[phaseKey] == "allocating" || notes[phaseKey] == "success") {
			return pod.Metadata, nil
		}
	}
	return meta{}, errors.New("no pod waits for an Allocate")
}

// finish writes what is left to allocate, and once that is nothing, success and the release.
func (p *plugin) finish(pod meta) error {
	path := podPath(pod.Namespace, pod.Name)
	if err := p.client.annotate(path, "", map[string]any{toAllocateKey: ";"}); err != nil {
		return err
	}
	now, err := p.client.get(path)
	if err != nil {
		return err
	}
	if strings.Contains(now.Metadata.Annotations[toAllocateKey], "NVIDIA") {
		return nil
	}
	if err := p.client.annotate(path, "", map[string]any{phaseKey: "success"}); err != nil {
		return err
	}
	return p.locks.release(p.node, pod.Namespace, pod.Name, false)
}

func refuse(writer http.ResponseWriter, code int, err error) {
	writer.Header().Set("Content-Type", jsonType)
	writer.WriteHeader(code)
	_ = json.NewEncoder(writer).Encode(map[string]string{"code": "REFUSED", "message": err.Error()})
}

func (p *plugin) allocate(writer http.ResponseWriter, _ *http.Request) {
	pod, err := p.find()
	if err != nil {
		refuse(writer, http.StatusConflict, err)
		return
	}
	p.mutex.Lock()
	p.next++
	id := strconv.Itoa(p.next)
	p.open[id] = pod
	p.mutex.Unlock()
	writer.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(writer).Encode(map[string]any{"allocation": id, "pod": map[string]string{
		"namespace": pod.Namespace, "name": pod.Name, "uid": pod.UID}})
}

func (p *plugin) done(writer http.ResponseWriter, request *http.Request) {
	id := request.PathValue("id")
	p.mutex.Lock()
	pod, isOpen := p.open[id]
	delete(p.open, id)
	p.mutex.Unlock()
	if !isOpen {
		refuse(writer, http.StatusNotFound, errors.New("no such allocation"))
		return
	}
	if err := p.finish(pod); err != nil {
		refuse(writer, http.StatusConflict, err)
		return
	}
	writer.WriteHeader(http.StatusNoContent)
}

func (p *plugin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/allocations", p.allocate)
	mux.HandleFunc("POST /v1/allocations/{id}/done", p.done)
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	return mux
}
