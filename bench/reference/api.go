// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

const (
	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
)

// meta and object are the few members of nodes and pods that the protocol looks at.
type meta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Annotations     map[string]string `json:"annotations"`
}

type object struct {
	Metadata meta `json:"metadata"`
	Status   struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// refused is an answer other than 2xx.
type refused struct {
	code int
	text string
}

func (r *refused) Error() string { return fmt.Sprintf("%d %s", r.code, r.text) }

func codeOf(err error) int {
	var answer *refused
	if errors.As(err, &answer) {
		return answer.code
	}
	return 0
}

// client sends each request through one token bucket, as client-go's clients of one
// configuration share theirs. Without a limiter nothing waits.
type client struct {
	server  string
	token   string
	agent   string
	limiter *rate.Limiter
	http    *http.Client
}

// kubeconfig is read in the form in which the test control plane writes it: JSON.
type kubeconfig struct {
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

func newClient(path, agent string, perSecond float64, burst int) (*client, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config kubeconfig
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, errors.New("the kubeconfig must have one cluster and one user")
	}
	authority, err := os.ReadFile(config.Clusters[0].Cluster.Authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("no certificate in the authority's file")
	}
	made := &client{
		server: config.Clusters[0].Cluster.Server,
		token:  config.Users[0].User.Token,
		agent:  agent,
		http: &http.Client{Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool},
			ForceAttemptHTTP2: true,
		}},
	}
	if perSecond > 0 {
		made.limiter = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	return made, nil
}

// call sends one request once the bucket has a token for it, and reads the answer into out.
func (c *client) call(method, path, kind string, body, out any) error {
	if c.limiter != nil {
		if err := c.limiter.Wait(context.Background()); err != nil {
			return err
		}
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequest(method, c.server+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("User-Agent", c.agent)
	request.Header.Set("Accept", jsonType)
	if body != nil {
		request.Header.Set("Content-Type", kind)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return &refused{answer.StatusCode, strings.TrimSpace(string(got))}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(got, out)
}

func nodePath(name string) string { return "/api/v1/nodes/" + name }

func podPath(namespace, name string) string {
	return "/api/v1/namespaces/" + namespace + "/pods/" + name
}

func (c *client) get(path string) (*object, error) {
	found := &object{}
	return found, c.call(http.MethodGet, path, "", nil, found)
}

// annotate merges annotations, nil values remove; version "" stands for whatever is there.
func (c *client) annotate(path, version string, annotations map[string]any) error {
	metadata := map[string]any{"annotations": annotations}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	return c.call(http.MethodPatch, path, mergeType, map[string]any{"metadata": metadata}, nil)
}

// recorder posts events one after the other beside everything else, from the same bucket;
// what does not fit into its queue is dropped.
type recorder struct {
	client *client
	queue  chan map[string]any
}

func newRecorder(c *client) *recorder {
	made := &recorder{client: c, queue: make(chan map[string]any, 1000)}
	go func() {
		for event := range made.queue {
			path := "/api/v1/namespaces/" + event["metadata"].(map[string]any)["namespace"].(string) +
				"/events"
			if err := c.call(http.MethodPost, path, jsonType, event, nil); err != nil {
				fmt.Fprintln(os.Stderr, "event:", err)
			}
		}
	}()
	return made
}

func (r *recorder) note(namespace, name, uid, kind, reason, text string) {
	now := time.Now().UTC()
	event := map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": kind, "reason": reason, "message": text,
		"metadata": map[string]any{"namespace": namespace,
			"name": fmt.Sprintf("%s.%x", name, now.UnixNano())},
		"involvedObject": map[string]any{"apiVersion": "v1", "kind": "Pod", "name": name,
			"namespace": namespace, "uid": uid},
		"firstTimestamp": now.Format(time.RFC3339), "lastTimestamp": now.Format(time.RFC3339),
		"count": 1, "source": map[string]any{"component": "reference"},
	}
	select {
	case r.queue <- event:
	default:
	}
}
