// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster is as much of the API server as the programs of this folder need, on the
// standard library alone: what they judge must not rest on code that is judged.
package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const timeout = 30 * time.Second

// Server is one API server and a token for it.
type Server struct {
	url    string
	token  string
	agent  string
	client *http.Client
}

// Container is one container of a pod's spec.
type Container struct {
	Name      string `json:"name"`
	Resources struct {
		Limits map[string]string `json:"limits"`
	} `json:"resources"`
}

// ContainerStatus is how one container fares.
type ContainerStatus struct {
	Name         string `json:"name"`
	RestartCount int    `json:"restartCount"`
}

// Pod is what is looked at of one.
type Pod struct {
	Metadata struct {
		Namespace   string            `json:"namespace"`
		Name        string            `json:"name"`
		UID         string            `json:"uid"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		NodeName       string      `json:"nodeName"`
		InitContainers []Container `json:"initContainers"`
		Containers     []Container `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase             string            `json:"phase"`
		Reason            string            `json:"reason"`
		Message           string            `json:"message"`
		InitStatuses      []ContainerStatus `json:"initContainerStatuses"`
		ContainerStatuses []ContainerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// Count says how many of a resource the container asks.
func (c *Container) Count(resource string) int {
	count, _ := strconv.Atoi(c.Resources.Limits[resource])
	return count
}

// AllContainers lists them in the order of HAMi's device strings.
func (p *Pod) AllContainers() []Container {
	return append(append([]Container{}, p.Spec.InitContainers...), p.Spec.Containers...)
}

// Open reads a kubeconfig that is JSON and has a token, as those of our test clusters.
func Open(kubeconfig, agent string) (*Server, error) {
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string `json:"server"`
				Authority string `json:"certificate-authority"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Token string `json:"token"`
			} `json:"user"`
		} `json:"users"`
	}
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, fmt.Errorf("%s: not one cluster and one user", kubeconfig)
	}
	authority, err := os.ReadFile(config.Clusters[0].Cluster.Authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s: no certificate", config.Clusters[0].Cluster.Authority)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	return &Server{config.Clusters[0].Cluster.Server, config.Users[0].User.Token, agent,
		&http.Client{Timeout: timeout, Transport: transport}}, nil
}

func (s *Server) call(method, path, kind string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, s.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("User-Agent", s.agent)
	request.Header.Set("Content-Type", kind)
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// Pods lists all pods that the label selector, or "", picks.
func (s *Server) Pods(selector string) ([]Pod, error) {
	var list struct {
		Items []Pod `json:"items"`
	}
	path := "/api/v1/pods"
	if selector != "" {
		path += "?labelSelector=" + selector
	}
	err := s.call("GET", path, "application/json", nil, &list)
	return list.Items, err
}

// Pod reads one.
func (s *Server) Pod(namespace, name string) (*Pod, error) {
	pod := &Pod{}
	err := s.call("GET", "/api/v1/namespaces/"+namespace+"/pods/"+name, "application/json", nil, pod)
	return pod, err
}

// NodeAnnotation reads one annotation of a node; "" where it has none.
func (s *Server) NodeAnnotation(node, key string) (string, error) {
	var found Pod
	err := s.call("GET", "/api/v1/nodes/"+node, "application/json", nil, &found)
	return found.Metadata.Annotations[key], err
}

// Annotate writes annotations onto a pod, as HAMi's filter does: by a merge patch.
func (s *Server) Annotate(pod *Pod, annotations map[string]string) error {
	path := "/api/v1/namespaces/" + pod.Metadata.Namespace + "/pods/" + pod.Metadata.Name
	return s.call("PATCH", path, "application/merge-patch+json",
		map[string]any{"metadata": map[string]any{"annotations": annotations}}, nil)
}

// Devices reads a device string of HAMi's: the names of each container's devices.
func Devices(text string) [][]string {
	var all [][]string
	for _, container := range strings.Split(text, ";") {
		var devices []string
		for _, device := range strings.Split(container, ":") {
			if uuid, _, found := strings.Cut(device, ","); found {
				devices = append(devices, uuid)
			}
		}
		all = append(all, devices)
	}
	return all
}
