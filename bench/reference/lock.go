// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

const (
	lockKey    = "hami.io/mutex.lock"
	unownedKey = "cambricon.com/dsmlu.lock"
	expiry     = 5 * time.Minute
	tries      = 5
	firstPause = 100 * time.Millisecond
)

// errContention says that another pod has the node's lock: the only error worth waiting for.
var errContention = errors.New("node lock contention")

// locks keeps one mutex for each node within this process; the annotation is the lock itself.
type locks struct {
	client *client
	mutex  sync.Mutex
	nodes  map[string]*sync.Mutex
}

func newLocks(c *client) *locks {
	return &locks{client: c, nodes: map[string]*sync.Mutex{}}
}

func (l *locks) of(node string) *sync.Mutex {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.nodes[node] == nil {
		l.nodes[node] = &sync.Mutex{}
	}
	return l.nodes[node]
}

// owner is who a lock's value names. known is false for a value that is only a time.
type owner struct {
	written         time.Time
	namespace, name string
	known           bool
}

func parse(value string) (owner, error) {
	fields := strings.Split(value, ",")
	if len(fields) != 1 && len(fields) != 3 {
		return owner{}, fmt.Errorf("malformed node lock %q", value)
	}
	written, err := time.Parse(time.RFC3339, fields[0])
	if err != nil {
		return owner{}, fmt.Errorf("malformed node lock %q: %w", value, err)
	}
	if len(fields) == 1 {
		return owner{written: written}, nil
	}
	return owner{written, fields[1], fields[2], fields[1] != "" && fields[2] != ""}, nil
}

func isOwn(value, namespace, name string) bool {
	return strings.HasSuffix(value, ","+namespace+","+name)
}

// pause is how long to wait before another try: twice as long each time, up to half as much
// again by chance.
func pause(try int) time.Duration {
	whole := firstPause << try
	return whole + time.Duration(rand.Float64()*0.5*float64(whole))
}

// take writes the node's lock for a pod, or says why not; it waits for nobody.
func (l *locks) take(node, namespace, name string) error {
	found, err := l.client.get(nodePath(node))
	if err != nil {
		return err
	}
	value, isLocked := found.Metadata.Annotations[lockKey]
	if isLocked {
		holder, err := parse(value)
		if err != nil {
			return err
		}
		isStale := time.Since(holder.written) > expiry
		if !isStale && holder.known && holder.namespace == namespace && holder.name == name {
			return nil
		}
		if !isStale && holder.known {
			_, err := l.client.get(podPath(holder.namespace, holder.name))
			if err != nil && codeOf(err) != 404 {
				return err
			}
			isStale = err != nil
		}
		if !isStale {
			return fmt.Errorf("%w: node %s has been locked within %s", errContention, node, expiry)
		}
		if err := l.release(node, namespace, name, true); err != nil {
			return err
		}
	}
	return l.set(node, namespace, name)
}

func (l *locks) set(node, namespace, name string) error {
	mutex := l.of(node)
	mutex.Lock()
	defer mutex.Unlock()
	found, err := l.client.get(nodePath(node))
	if err != nil {
		return err
	}
	if _, isLocked := found.Metadata.Annotations[lockKey]; isLocked {
		return fmt.Errorf("%w: node %s is locked", errContention, node)
	}
	for try := 0; ; try++ {
		if err = l.trySet(node, namespace, name); err == nil || errors.Is(err, errContention) {
			return err
		}
		if try+1 == tries {
			return err
		}
		time.Sleep(pause(try))
	}
}

func (l *locks) trySet(node, namespace, name string) error {
	found, err := l.client.get(nodePath(node))
	if err != nil {
		return err
	}
	if value, isLocked := found.Metadata.Annotations[lockKey]; isLocked {
		if isOwn(value, namespace, name) {
			return nil
		}
		return fmt.Errorf("%w: node %s is locked", errContention, node)
	}
	value := time.Now().UTC().Format(time.RFC3339) + "," + namespace + "," + name
	return l.client.annotate(nodePath(node), found.Metadata.ResourceVersion,
		map[string]any{lockKey: value})
}

// release removes the lock if it is this pod's, or whosesoever it is when forced. A lock of
// another's and none at all are no errors.
func (l *locks) release(node, namespace, name string, isForced bool) error {
	mutex := l.of(node)
	mutex.Lock()
	defer mutex.Unlock()
	found, err := l.client.get(nodePath(node))
	if err != nil {
		return err
	}
	seen, isLocked := found.Metadata.Annotations[lockKey]
	if !isLocked || (!isForced && strings.Contains(seen, ",") && !isOwn(seen, namespace, name)) {
		return nil
	}
	for try := 0; ; try++ {
		if err = l.tryRelease(node, seen); err == nil || try+1 == tries {
			return err
		}
		time.Sleep(pause(try))
	}
}

// releaseUnowned is what each refused bind does for one more vendor, whosesoever its lock is.
func (l *locks) releaseUnowned(node string) error {
	found, err := l.client.get(nodePath(node))
	if err != nil {
		return err
	}
	if _, isLocked := found.Metadata.Annotations[unownedKey]; !isLocked {
		return nil
	}
	return l.client.annotate(nodePath(node), "", map[string]any{unownedKey: nil})
}

func (l *locks) tryRelease(node, seen string) error {
	found, err := l.client.get(nodePath(node))
	if codeOf(err) == 404 {
		return nil
	}
	if err != nil {
		return err
	}
	if found.Metadata.Annotations[lockKey] != seen {
		return nil
	}
	return l.client.annotate(nodePath(node), found.Metadata.ResourceVersion,
		map[string]any{lockKey: nil})
}
