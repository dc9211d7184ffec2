// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

// A kube-scheduler that binds pods with devices under the node's lock, by a Bind plugin in its own
// process: no extender, no HTTP between the two. README.md says how it is configured.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's own metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version as a metric
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"haminodelock.test/go-scheduler/nodelockbind"
)

func main() {
	command := app.NewSchedulerCommand(app.WithPlugin(nodelockbind.Name, nodelockbind.New))
	os.Exit(cli.Run(command))
}
