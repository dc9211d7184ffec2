// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// A device plugin's Allocate in Go: allocate SOCKET RESOURCE FOLDER ID...
//
// Asks hamid's agent whose Allocate it is, looks for the pod's devices in FOLDER, and says done or failed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

type agent struct{ client http.Client }

func dial(socket string) *agent {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	// The agent answers by its own limit, 2 s unless told otherwise.
	return &agent{http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// post fills answer on the status that is expected, and else gives the agent's message.
func (a *agent) post(path string, body any, status int, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	response, err := a.client.Post("http://hamid"+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != status {
		var problem struct{ Code, Message string }
		if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
			return fmt.Errorf("%s: %w", response.Status, err)
		}
		return errors.New(problem.Message)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

type allocation struct {
	ID  string `json:"allocation"`
	Pod struct{ Namespace, Name, UID string }
	// One for each list of ids that was asked about.
	Containers []struct {
		Name    string
		Devices []struct {
			UUID, Type  string
			MemoryMiB   int32 `json:"memory_mib"`
			CorePercent int32 `json:"core_percent"`
		}
	}
}

// allocate gives the paths of one container's devices, or an error: then refuse the container.
func allocate(a *agent, resource string, ids []string, folder string) ([]string, error) {
	var found allocation
	question := map[string]any{"resource": resource, "containers": [][]string{ids}}
	if err := a.post("/v1/allocations", question, http.StatusOK, &found); err != nil {
		return nil, err // nothing was written to any pod
	}
	path := "/v1/allocations/" + found.ID
	fmt.Printf("pod %s/%s\n", found.Pod.Namespace, found.Pod.Name)
	var devices []string
	for _, device := range found.Containers[0].Devices {
		file := filepath.Join(folder, device.UUID)
		if _, err := os.Stat(file); err != nil {
			missing := fmt.Errorf("no device %s", file)
			reason := map[string]string{"reason": missing.Error()}
			return nil, errors.Join(missing, a.post(path+"/failed", reason, http.StatusNoContent, nil))
		}
		devices = append(devices, file)
	}
	return devices, a.post(path+"/done", struct{}{}, http.StatusNoContent, nil)
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: allocate SOCKET RESOURCE FOLDER ID...")
		os.Exit(2)
	}
	devices, err := allocate(dial(os.Args[1]), os.Args[2], os.Args[4:], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, device := range devices {
		fmt.Println("device", device)
	}
}
