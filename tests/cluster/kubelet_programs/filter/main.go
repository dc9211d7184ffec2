// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// A stand-in for the filter of HAMi's extender: chooses the devices of each container, writes
// them into the pod's annotations, and answers with the one node. It gives devices out in an
// order of its own, drawn from --seed, so that no list order and no order of the kubelet's can
// be right by chance.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"haminodelock.test/kubelet/cluster"
)

// One resource: which devices it has, and where its pods say theirs.
type vendor struct {
	resource string
	word     string // hami.io/<word>-devices-to-allocate
	kind     string
	prefix   string
	free     []string
}

type filter struct {
	server  *cluster.Server
	mutex   sync.Mutex // guards what follows; held over the write, as filters are serial
	vendors []*vendor
	held    map[string]map[*vendor][]string // by pod UID
}

type request struct {
	Pod       *cluster.Pod
	NodeNames *[]string
}

type answer struct {
	NodeNames *[]string `json:"NodeNames"`
	Error     string    `json:"Error"`
}

func (f *filter) giveBack(uid string) {
	for one, devices := range f.held[uid] {
		one.free = append(one.free, devices...)
	}
	delete(f.held, uid)
}

// Devices of pods that are gone or finished are free again.
func (f *filter) giveBackGone() error {
	pods, err := f.server.Pods("")
	if err != nil {
		return err
	}
	living := map[string]bool{}
	for _, pod := range pods {
		living[pod.Metadata.UID] = pod.Status.Phase != "Failed" && pod.Status.Phase != "Succeeded"
	}
	for uid := range f.held {
		if !living[uid] {
			f.giveBack(uid)
		}
	}
	return nil
}

func (f *filter) take(uid string, from *vendor, count int) ([]string, error) {
	if len(from.free) < count {
		if err := f.giveBackGone(); err != nil {
			return nil, err
		}
	}
	if len(from.free) < count {
		return nil, fmt.Errorf("%s: %d devices wanted, %d free", from.resource, count, len(from.free))
	}
	given := from.free[:count]
	from.free = from.free[count:]
	if f.held[uid] == nil {
		f.held[uid] = map[*vendor][]string{}
	}
	f.held[uid][from] = append(f.held[uid][from], given...)
	return given, nil
}

// The device string of one vendor, init containers first.
func (f *filter) text(pod *cluster.Pod, from *vendor) (string, error) {
	var text strings.Builder
	total := 0
	for _, container := range pod.AllContainers() {
		count := container.Count(from.resource)
		devices, err := f.take(pod.Metadata.UID, from, count)
		if err != nil {
			return "", err
		}
		for _, device := range devices {
			fmt.Fprintf(&text, "%s,%s,1000,10:", device, from.kind)
		}
		total += count
		text.WriteString(";")
	}
	if total == 0 {
		return "", nil
	}
	return text.String(), nil
}

func (f *filter) choose(pod *cluster.Pod, node string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	annotations := map[string]string{
		"hami.io/vgpu-node": node,
		"hami.io/vgpu-time": strconv.FormatInt(time.Now().Unix(), 10),
	}
	f.giveBack(pod.Metadata.UID)
	for _, one := range f.vendors {
		text, err := f.text(pod, one)
		if err != nil {
			f.giveBack(pod.Metadata.UID)
			return err
		}
		if text != "" {
			annotations["hami.io/"+one.word+"-devices-to-allocate"] = text
			annotations["hami.io/"+one.word+"-devices-allocated"] = text
		}
	}
	err := f.server.Annotate(pod, annotations)
	if err != nil {
		f.giveBack(pod.Metadata.UID)
	}
	return err
}

func (f *filter) ServeHTTP(writer http.ResponseWriter, asked *http.Request) {
	var found request
	said := answer{}
	if err := json.NewDecoder(asked.Body).Decode(&found); err != nil {
		said.Error = err.Error()
	} else if found.Pod == nil || found.NodeNames == nil || len(*found.NodeNames) == 0 {
		said.Error = "no pod, or no node to choose from"
	} else if err := f.choose(found.Pod, (*found.NodeNames)[0]); err != nil {
		said.Error = err.Error()
	} else {
		one := (*found.NodeNames)[:1]
		said.NodeNames = &one
	}
	if said.Error != "" {
		log.Print(said.Error)
	}
	writer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(writer).Encode(said)
}

func readVendor(text string, count int, random *rand.Rand) (*vendor, error) {
	parts := strings.Split(text, ",")
	if len(parts) != 4 {
		return nil, fmt.Errorf("'%s' is no RESOURCE,WORD,KIND,PREFIX", text)
	}
	one := &vendor{resource: parts[0], word: parts[1], kind: parts[2], prefix: parts[3]}
	for _, i := range random.Perm(count) {
		one.free = append(one.free, fmt.Sprintf("%s%04d", one.prefix, i))
	}
	return one, nil
}

func main() {
	var kubeconfig, addressFile string
	var count int
	var seed uint64
	f := &filter{held: map[string]map[*vendor][]string{}}
	var texts []string
	flag.StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	flag.StringVar(&addressFile, "address-file", "", "where to write our address")
	flag.IntVar(&count, "count", 200, "devices of each vendor")
	flag.Uint64Var(&seed, "seed", 1, "draws the order of devices")
	flag.Func("vendor", "RESOURCE,WORD,KIND,PREFIX; may be given again", func(text string) error {
		texts = append(texts, text)
		return nil
	})
	flag.Parse()
	random := rand.New(rand.NewPCG(seed, 0))
	for _, text := range texts {
		one, err := readVendor(text, count, random)
		if err != nil {
			log.Fatal(err)
		}
		f.vendors = append(f.vendors, one)
	}
	server, err := cluster.Open(kubeconfig, "hami-filter-stand-in")
	if err != nil {
		log.Fatal(err)
	}
	f.server = server
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	temporary := addressFile + ".new"
	if err := os.WriteFile(temporary, []byte(listener.Addr().String()+"\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	if err := os.Rename(temporary, addressFile); err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /filter", f)
	log.Fatal(http.Serve(listener, nil))
}
