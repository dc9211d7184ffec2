// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelockbind

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"haminodelock.test/nodelock"
	"haminodelock.test/nodelock/kubernetes"
)

// engine is one manager on one API server. Profiles with equal arguments share it.
type engine struct {
	key     string
	users   int // guarded by enginesMutex
	client  *kubernetes.Client
	manager *nodelock.Manager
}

var (
	enginesMutex sync.Mutex
	engines      = map[string]*engine{}
)

// shutdownPatience is how long the end of the process waits for what is in flight.
const shutdownPatience = 10 * time.Second

// useEngine finds or makes the one for these arguments; release it.
func useEngine(args *Args) (*engine, error) {
	enginesMutex.Lock()
	defer enginesMutex.Unlock()
	if found := engines[args.key()]; found != nil {
		found.users++
		return found, nil
	}
	made, err := newEngine(args)
	if err == nil {
		engines[made.key] = made
	}
	return made, err
}

func newEngine(args *Args) (*engine, error) {
	logger := slog.New(logr.ToSlogHandler(klog.Background().WithName("nodelock")))
	login := kubernetes.Config{Kubeconfig: args.Kubeconfig}
	if args.Kubeconfig == "" {
		login = kubernetes.FromEnvironment()
	}
	login.Context = args.Context
	login.UserAgent = "kube-scheduler/nodelock"
	login.Logger = logger
	client, err := kubernetes.New(login)
	if err != nil {
		return nil, err
	}
	defer client.Close() // the transport keeps it, and so does the engine if all goes well
	transport, err := client.NewTransport(kubernetes.TransportConfig{
		SchedulerNames: args.SchedulerNames})
	if err != nil {
		return nil, err
	}
	defer transport.Close()
	manager, err := nodelock.New(nodelock.Config{
		Transport:         transport,
		Key:               args.LockKey,
		HoldLimit:         args.HoldLimit.Duration,
		ExpireAfter:       args.LockExpire.Duration,
		StallLimit:        args.StallLimit.Duration,
		ExpireBoundOwners: args.ExpireBoundOwners,
		Logger:            logger,
	})
	if err != nil {
		return nil, err
	}
	klog.Background().Info("Binding under node locks", "apiServer", client.Server(),
		"holder", manager.Holder(), "patience", args.Patience.Duration,
		"managedResources", args.ManagedResources, "schedulerNames", args.SchedulerNames)
	return &engine{key: args.key(), users: 1, client: client, manager: manager}, nil
}

// release ends the engine with its last user: waiters end at once, what is on its way is finished.
func (e *engine) release() error {
	enginesMutex.Lock()
	e.users--
	isLast := e.users == 0
	if isLast {
		delete(engines, e.key)
	}
	enginesMutex.Unlock()
	if !isLast {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	err := e.manager.Close(ctx)
	if errors.Is(err, nodelock.ErrTimedOut) {
		klog.Background().Error(err, "Locks are left to the takeover rules")
	}
	return err
}
