// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// Judges whether each container has exactly the devices that its pod's annotation says. Three
// witnesses are asked, none of which is ours: the API server (spec and annotations), the
// container itself (the environment that it printed when it started), and the kubelet's
// PodResources (which ids it holds for this container). Prints one line of JSON; ends with 1
// if a container has other devices, or none.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"haminodelock.test/kubelet/cluster"
)

const (
	wrongMax  = 20
	patience  = 5 * time.Second // for all containers together
	lookAgain = 50 * time.Millisecond
)

// One resource, the annotation that says who gets which of its devices, and the variable that
// a container finds them in.
type vendor struct {
	resource, annotation, variable string
}

type verdict struct {
	Pods         int      `json:"pods"`
	Containers   int      `json:"containers"`
	RightDevices int      `json:"right_devices"`
	FailedPods   int      `json:"failed_pods"`
	Wrong        []string `json:"wrong"`
}

type judge struct {
	vendors []vendor
	logs    string
	held    map[string][]string // ids, by namespace/pod/container/resource
	owners  map[string]string   // of each id, by resource and id
	given   map[string]string   // who has which device, by resource and device
	until   time.Time
	verdict verdict
}

func (j *judge) complain(format string, words ...any) {
	if len(j.verdict.Wrong) < wrongMax {
		j.verdict.Wrong = append(j.verdict.Wrong, fmt.Sprintf(format, words...))
	}
}

// Asks the kubelet which ids each container holds. No id may have two holders.
func (j *judge) askKubelet(socket string) error {
	connection, err := grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	answer, err := api.NewPodResourcesListerClient(connection).List(ctx, &api.ListPodResourcesRequest{})
	if err != nil {
		return err
	}
	for _, pod := range answer.PodResources {
		for _, container := range pod.Containers {
			for _, devices := range container.Devices {
				key := strings.Join([]string{pod.Namespace, pod.Name, container.Name, devices.ResourceName}, "/")
				j.held[key] = append(j.held[key], devices.DeviceIds...)
			}
		}
	}
	for key, ids := range j.held {
		slices.Sort(ids)
		resource := key[strings.Index(key, "/"):]
		for _, id := range ids {
			if other := j.owners[resource+id]; other != "" && other != key {
				return fmt.Errorf("the kubelet says that %s is held by %s and by %s", id, key, other)
			}
			j.owners[resource+id] = key
		}
	}
	return nil
}

// What a container printed when it started last. The runtime may write it down a moment after
// the kubelet calls the container running.
func (j *judge) environment(pod *cluster.Pod, name string) (map[string]string, error) {
	for {
		found, err := j.printed(pod, name)
		if err == nil || time.Now().After(j.until) {
			return found, err
		}
		time.Sleep(lookAgain)
	}
}

func (j *judge) printed(pod *cluster.Pod, name string) (map[string]string, error) {
	folder := filepath.Join(j.logs, strings.Join([]string{
		pod.Metadata.Namespace, pod.Metadata.Name, pod.Metadata.UID}, "_"), name)
	paths, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("it never started")
	}
	slices.Sort(paths)
	text, err := os.ReadFile(paths[len(paths)-1])
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, one := range strings.Split(string(text), "\n") {
		// time, stream, tag, then what was printed
		words := strings.SplitN(one, " ", 4)
		if len(words) != 4 {
			continue
		}
		if words[3] == "environment ends" {
			return found, nil
		}
		key, value, _ := strings.Cut(words[3], "=")
		found[key] = value
	}
	return nil, fmt.Errorf("it did not print its environment to the end")
}

// The devices that the annotation says for one container.
func promised(text string, index int) []string {
	containers := cluster.Devices(text)
	if index >= len(containers) {
		return nil
	}
	slices.Sort(containers[index])
	return containers[index]
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	words := strings.Split(text, ",")
	slices.Sort(words)
	return words
}

// One container and one vendor: nil if all witnesses agree.
func (j *judge) look(pod *cluster.Pod, index int, one vendor, environment map[string]string) error {
	container := pod.AllContainers()[index]
	said := promised(pod.Metadata.Annotations[one.annotation], index)
	got := split(environment[one.variable])
	ids := split(environment[one.variable+"_IDS"])
	key := strings.Join([]string{pod.Metadata.Namespace, pod.Metadata.Name, container.Name, one.resource}, "/")
	wanted := container.Count(one.resource)

	if len(said) != wanted {
		return fmt.Errorf("the annotation says %v, the spec %d", said, wanted)
	}
	if !slices.Equal(said, got) {
		return fmt.Errorf("%s: the annotation says %v, its environment %v", one.resource, said, got)
	}
	// A container that has ended holds nothing any more; an init container's ids are reused.
	if index < len(pod.Spec.InitContainers) {
		ids = j.held[key]
	} else if len(j.held[key]) != wanted {
		return fmt.Errorf("%s: the kubelet holds %v for it, the spec says %d", one.resource,
			j.held[key], wanted)
	}
	// Not every plugin tells the container which ids it was asked for.
	if _, found := environment[one.variable+"_IDS"]; found && !slices.Equal(j.held[key], ids) {
		return fmt.Errorf("%s: it was given the answer for %v, the kubelet holds %v for it",
			one.resource, ids, j.held[key])
	}
	for _, device := range got {
		if other := j.given[one.resource+"/"+device]; other != "" {
			return fmt.Errorf("%s is in %s too", device, other)
		}
		j.given[one.resource+"/"+device] = pod.Metadata.Name + "/" + container.Name
	}
	return nil
}

func (j *judge) lookAtPod(pod *cluster.Pod) {
	j.verdict.Pods++
	if pod.Status.Phase == "Failed" {
		j.verdict.FailedPods++
		j.complain("%s failed: %s %s", pod.Metadata.Name, pod.Status.Reason, pod.Status.Message)
	}
	for index, container := range pod.AllContainers() {
		asks := false
		for _, one := range j.vendors {
			asks = asks || container.Count(one.resource) > 0
		}
		if !asks {
			continue
		}
		j.verdict.Containers++
		environment, err := j.environment(pod, container.Name)
		for _, one := range j.vendors {
			if err == nil {
				err = j.look(pod, index, one, environment)
			}
		}
		if err != nil {
			j.complain("%s/%s: %v", pod.Metadata.Name, container.Name, err)
			continue
		}
		j.verdict.RightDevices++
	}
}

func main() {
	var kubeconfig, socket, selector string
	j := &judge{held: map[string][]string{}, owners: map[string]string{}, given: map[string]string{}}
	flag.StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	flag.StringVar(&socket, "pod-resources", "/var/lib/kubelet/pod-resources/kubelet.sock", "kubelet's socket")
	flag.StringVar(&j.logs, "logs", "/var/log/pods", "folder of the containers' logs")
	flag.StringVar(&selector, "selector", "", "label=value of the pods to judge")
	flag.Func("vendor", "RESOURCE,ANNOTATION,VARIABLE; may be given again", func(text string) error {
		words := strings.Split(text, ",")
		if len(words) != 3 {
			return fmt.Errorf("'%s' is no RESOURCE,ANNOTATION,VARIABLE", text)
		}
		j.vendors = append(j.vendors, vendor{words[0], words[1], words[2]})
		return nil
	})
	flag.Parse()
	server, err := cluster.Open(kubeconfig, "judge")
	if err != nil {
		log.Fatal(err)
	}
	if err := j.askKubelet(socket); err != nil {
		log.Fatal(err)
	}
	pods, err := server.Pods(selector)
	if err != nil {
		log.Fatal(err)
	}
	j.until = time.Now().Add(patience)
	for i := range pods {
		j.lookAtPod(&pods[i])
	}
	_ = json.NewEncoder(os.Stdout).Encode(j.verdict)
	if j.verdict.RightDevices != j.verdict.Containers || j.verdict.Containers == 0 {
		os.Exit(1)
	}
}
