// SPDX-FileCopyrightText: 2026 The libhaminodelock authors
// SPDX-License-Identifier: Apache-2.0

package nodelockbind

import (
	"errors"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"haminodelock.test/nodelock"
)

// The plugin's metrics stand beside kube-scheduler's own, on its /metrics.
const prefix = "hami_nodelock_"

var (
	binds = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: prefix + "binds_total", StabilityLevel: metrics.ALPHA,
		Help: "Binds under a node's lock, by how they ended."}, []string{"outcome"})
	bindSeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Name: prefix + "bind_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time of a bind, the wait for the lock included.",
		Buckets: metrics.ExponentialBuckets(0.001, 2, 16)})
	waitSeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Name: prefix + "wait_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time from asking for a node's lock to the answer.",
		Buckets: metrics.ExponentialBuckets(0.001, 2, 16)})
)

var outcomes = []struct {
	code nodelock.Code
	word string
}{
	{nodelock.ErrTimedOut, "contention"},
	{nodelock.ErrLimit, "contention"},
	{nodelock.ErrLost, "refused"},
	{nodelock.ErrNoNode, "refused"},
	{nodelock.ErrInDoubt, "in_doubt"},
	{nodelock.ErrCanceled, "canceled"},
	{nodelock.ErrClosed, "closed"},
}

// outcomeOf is the label of what a bind ended with.
func outcomeOf(err error) string {
	if err == nil {
		return "bound"
	}
	for _, one := range outcomes {
		if errors.Is(err, one.code) {
			return one.word
		}
	}
	return "error"
}

func count(outcome string, duration time.Duration) {
	binds.WithLabelValues(outcome).Inc()
	bindSeconds.Observe(duration.Seconds())
}

func countWait(duration time.Duration) {
	waitSeconds.Observe(duration.Seconds())
}

var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(binds, bindSeconds, waitSeconds)
	legacyregistry.CustomMustRegister(&lockCollector{})
})

// lockCollector reads the managers' totals when metrics are asked for.
type lockCollector struct {
	metrics.BaseStableCollector
}

var totals = []struct {
	desc *metrics.Desc
	kind metrics.ValueType
	of   func(*nodelock.Stats) float64
}{
	total("grants_total", "Locks granted.", func(s *nodelock.Stats) uint64 { return s.Grants }),
	total("handoffs_total", "Locks left to the node side.",
		func(s *nodelock.Stats) uint64 { return s.HandOffs }),
	total("releases_total", "Locks removed or handed over.",
		func(s *nodelock.Stats) uint64 { return s.Releases }),
	total("hand_overs_total", "Releases that gave the lock to the next pod in one write.",
		func(s *nodelock.Stats) uint64 { return s.HandOvers }),
	total("takeovers_total", "Locks taken from a pod on proof or age.",
		func(s *nodelock.Stats) uint64 { return s.Takeovers }),
	total("revocations_total", "Pending Bindings revoked.",
		func(s *nodelock.Stats) uint64 { return s.Revocations }),
	total("lost_total", "Held locks that vanished from their node.",
		func(s *nodelock.Stats) uint64 { return s.Lost }),
	total("in_doubt_total", "Writes whose answer did not come or was not believed.",
		func(s *nodelock.Stats) uint64 { return s.InDoubt }),
	total("alarms_total", "Expired locks whose pods still wait for Allocate.",
		func(s *nodelock.Stats) uint64 { return s.Alarms }),
	total("store_calls_total", "Calls made for the lock.",
		func(s *nodelock.Stats) uint64 { return s.Calls }),
	gauge("waiters", "Binds that wait for a node's lock.",
		func(s *nodelock.Stats) int { return s.Waiters }),
	gauge("leases", "Locks held by this process.", func(s *nodelock.Stats) int { return s.Leases }),
}

type row = struct {
	desc *metrics.Desc
	kind metrics.ValueType
	of   func(*nodelock.Stats) float64
}

func total(name, help string, of func(*nodelock.Stats) uint64) row {
	return row{metrics.NewDesc(prefix+name, help, nil, nil, metrics.ALPHA, ""), metrics.CounterValue,
		func(stats *nodelock.Stats) float64 { return float64(of(stats)) }}
}

func gauge(name, help string, of func(*nodelock.Stats) int) row {
	return row{metrics.NewDesc(prefix+name, help, nil, nil, metrics.ALPHA, ""), metrics.GaugeValue,
		func(stats *nodelock.Stats) float64 { return float64(of(stats)) }}
}

// DescribeWithStability names them all.
func (c *lockCollector) DescribeWithStability(to chan<- *metrics.Desc) {
	for _, one := range totals {
		to <- one.desc
	}
}

// CollectWithStability adds up what all managers say.
func (c *lockCollector) CollectWithStability(to chan<- metrics.Metric) {
	sums := make([]float64, len(totals))
	enginesMutex.Lock()
	for _, engine := range engines {
		stats, err := engine.manager.Stats()
		if err != nil {
			continue // it is closing
		}
		for i, one := range totals {
			sums[i] += one.of(&stats)
		}
	}
	enginesMutex.Unlock()
	for i, one := range totals {
		to <- metrics.NewLazyConstMetric(one.desc, one.kind, sums[i])
	}
}
