// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const pollEvery = 100 * time.Millisecond

// extender answers kube-scheduler. With patience 0 a bind that finds the node locked fails at
// once; else it asks again every 100 ms for that long, as is done for members of a PodGroup.
type extender struct {
	client   *client
	locks    *locks
	recorder *recorder
	patience time.Duration
}

type filterRequest struct {
	Pod       object
	NodeNames *[]string
}

type filterAnswer struct {
	NodeNames *[]string
	Error     string
}

type bindRequest struct {
	PodName, PodNamespace, PodUID, Node string
}

type bindAnswer struct{ Error string }

// filter picks the first node and notes the choice on the pod.
func (e *extender) filter(request filterRequest) filterAnswer {
	if request.NodeNames == nil || len(*request.NodeNames) == 0 {
		return filterAnswer{NodeNames: &[]string{}}
	}
	node := (*request.NodeNames)[0]
	pod := request.Pod.Metadata
	devices := pod.Annotations[allocatedKey]
	err := e.client.call(http.MethodPatch, podPath(pod.Namespace, pod.Name), mergeType,
		map[string]any{"metadata": map[string]any{
			"labels": map[string]any{nodeKey: node},
			"annotations": map[string]any{nodeKey: node,
				"hami.io/vgpu-time": strconv.FormatInt(time.Now().Unix(), 10),
				toAllocateKey:       devices, allocatedKey: devices},
		}}, nil)
	if err != nil {
		e.recorder.note(pod.Namespace, pod.Name, pod.UID, "Warning", "FilteringFailed", err.Error())
		return filterAnswer{Error: err.Error()}
	}
	e.recorder.note(pod.Namespace, pod.Name, pod.UID, "Normal", "FilteringSucceed",
		"find fit node("+node+")")
	return filterAnswer{NodeNames: &[]string{node}}
}

// tryAll asks for the locks of all vendors. Where one of them fails, those that come before it are
// given back, the one without an owner's test among them, whether they had been taken or not.
func (e *extender) tryAll(request bindRequest) error {
	err := e.locks.take(request.Node, request.PodNamespace, request.PodName)
	if err == nil {
		return nil
	}
	return errors.Join(err, e.locks.releaseUnowned(request.Node))
}

func (e *extender) take(request bindRequest) error {
	begin := time.Now()
	for {
		err := e.tryAll(request)
		if !errors.Is(err, errContention) || time.Since(begin) >= e.patience {
			return err
		}
		time.Sleep(pollEvery)
	}
}

// bind leaves the lock where it is if all goes well: the device plugin removes it.
func (e *extender) bind(request bindRequest) bindAnswer {
	err := e.take(request)
	if err == nil {
		err = e.client.annotate(podPath(request.PodNamespace, request.PodName), "", map[string]any{
			phaseKey: "allocating", bindTimeKey: strconv.FormatInt(time.Now().Unix(), 10)})
	}
	if err == nil {
		err = e.client.call(http.MethodPost,
			podPath(request.PodNamespace, request.PodName)+"/binding", jsonType, map[string]any{
				"apiVersion": "v1", "kind": "Binding",
				"metadata": map[string]any{"name": request.PodName, "uid": request.PodUID},
				"target":   map[string]any{"kind": "Node", "name": request.Node}}, nil)
	}
	if err == nil {
		e.recorder.note(request.PodNamespace, request.PodName, request.PodUID, "Normal",
			"BindingSucceed", "bound to "+request.Node)
		return bindAnswer{}
	}
	text := err.Error()
	if err := errors.Join(
		e.locks.release(request.Node, request.PodNamespace, request.PodName, false),
		e.locks.releaseUnowned(request.Node)); err != nil {
		text = fmt.Sprintf("%s; release: %s", text, err)
	}
	e.recorder.note(request.PodNamespace, request.PodName, request.PodUID, "Warning",
		"BindingFailed", text)
	return bindAnswer{text}
}

func answer[request, response any](handle func(request) response) http.HandlerFunc {
	return func(writer http.ResponseWriter, received *http.Request) {
		var asked request
		if err := json.NewDecoder(received.Body).Decode(&asked); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", jsonType)
		_ = json.NewEncoder(writer).Encode(handle(asked))
	}
}

func (e *extender) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", answer(e.filter))
	mux.HandleFunc("POST /bind", answer(e.bind))
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	return mux
}
