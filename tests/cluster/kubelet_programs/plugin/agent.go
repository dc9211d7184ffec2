// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	agentTimeout = 4 * time.Second // a little more than the agent allows itself for one request
	askTimeout   = 2 * time.Second // the kubelet starts no other pod meanwhile
	askAgain     = 20 * time.Millisecond
)

// The socket API of `hamid node`.
type agent struct {
	client *http.Client
}

// The answer to "whose Allocate is this?".
type allocation struct {
	ID  string `json:"allocation"`
	Pod struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		UID       string `json:"uid"`
	} `json:"pod"`
	Containers []struct {
		Name    string `json:"name"`
		Devices []struct {
			UUID string `json:"uuid"`
			Type string `json:"type"`
		} `json:"devices"`
	} `json:"containers"`
}

func newAgent(socket string) *agent {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &agent{&http.Client{
		Timeout: agentTimeout, Transport: &http.Transport{DialContext: dial}}}
}

func (a *agent) post(path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := a.client.Post("http://hamid"+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the agent answered %d: %s", answer.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// To ask writes nothing, so it may be repeated; the agent may be starting anew.
func (a *agent) begin(resource string, ids [][]string) (*allocation, error) {
	var lost net.Error
	found := &allocation{}
	until := time.Now().Add(askTimeout)
	body := map[string]any{"resource": resource, "containers": ids}
	err := a.post("/v1/allocations", body, found)
	for errors.As(err, &lost) && time.Now().Before(until) {
		time.Sleep(askAgain)
		err = a.post("/v1/allocations", body, found)
	}
	if err == nil && len(found.Containers) != len(ids) {
		err = fmt.Errorf("the agent answered %d containers for %d", len(found.Containers), len(ids))
	}
	return found, err
}

func (a *agent) done(id string) error {
	return a.post("/v1/allocations/"+id+"/done", map[string]any{}, nil)
}
