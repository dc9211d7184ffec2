{{- /*
SPDX-FileCopyrightText: 2026 The libhaminodelock authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{/* The two files that the scheduler's pod reads: hamid's, and kube-scheduler's. */}}

{{- define "hamid.schedulerFile" -}}
{{- $file := dict
    "listen" (printf "127.0.0.1:%v" .Values.scheduler.port)
    "metrics-listen" (include "hamid.metricsListen" .)
    "scheduler-name" (list .Values.schedulerName)
    "managed-resource" .Values.managedResources -}}
{{- $url := include "hamid.filterUrl" . -}}
{{- if and $url (eq .Values.filter.entry "hamid") -}}
  {{- $_ := set $file "filter-url" $url -}}
  {{- $_ := set $file "filter-timeout" .Values.filter.timeout -}}
  {{- if include "hamid.isFilterInsecure" . -}}
    {{- $_ := set $file "filter-insecure" true -}}
  {{- end -}}
  {{- if .Values.filter.caSecret.name -}}
    {{- $_ := set $file "filter-ca-file" (printf "/etc/hamid-filter/%s" .Values.filter.caSecret.key) -}}
  {{- end -}}
{{- end -}}
{{- with .Values.scheduler.locks -}}
  {{- $_ := set $file "lock" . -}}
{{- end -}}
{{- if include "hamid.hasLeases" . -}}
  {{- $_ := set $file "lock-store" .Values.scheduler.lockStore -}}
  {{- $_ := set $file "lease-namespace" .Values.leases.namespace -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
  {{- $_ := set $file "tls-cert-file" "/etc/hamid-tls/tls.crt" -}}
  {{- $_ := set $file "tls-key-file" "/etc/hamid-tls/tls.key" -}}
  {{- with .Values.tls.serverName -}}
    {{- $_ := set $file "host" (list .) -}}
  {{- end -}}
  {{- if .Values.tls.clientSecretName -}}
    {{- $_ := set $file "client-ca-file" "/etc/hamid-tls/ca.crt" -}}
  {{- end -}}
{{- else if .Values.metrics.expose -}}
  {{- $_ := set $file "metrics-allow-plain" true -}}
{{- end -}}
{{- toYaml (merge (deepCopy .Values.scheduler.config) $file) -}}
{{- end -}}

{{- define "hamid.managedResources" -}}
managedResources:
{{- $isIgnored := not (empty (include "hamid.filterUrl" .)) }}
{{- range .Values.managedResources }}
- name: {{ . }}
  ignoredByScheduler: {{ $isIgnored }}
{{- end }}
{{- end -}}

{{- /* ignorable is false in each entry: kube-scheduler would bind without any lock. */ -}}
{{- define "hamid.ownEntry" -}}
- urlPrefix: {{ if .Values.tls.secretName }}https{{ else }}http{{ end }}://127.0.0.1:{{ .Values.scheduler.port }}
  {{- if and (include "hamid.filterUrl" .) (eq .Values.filter.entry "hamid") }}
  filterVerb: filter
  {{- end }}
  bindVerb: bind
  weight: 1
  enableHTTPS: {{ not (empty .Values.tls.secretName) }}
  {{- if .Values.tls.secretName }}
  tlsConfig:
    caFile: /etc/hamid-ca/ca.crt
    {{- with .Values.tls.serverName }}
    serverName: {{ . }}
    {{- end }}
    {{- if .Values.tls.clientSecretName }}
    certFile: /etc/hamid-client/tls.crt
    keyFile: /etc/hamid-client/tls.key
    {{- end }}
  {{- end }}
  httpTimeout: {{ .Values.scheduler.patience }}
  nodeCacheCapable: true
  ignorable: false
  {{- include "hamid.managedResources" . | nindent 2 }}
{{- end -}}

{{- /* HAMi's entry has no managedResources: kube-scheduler refuses two entries with the same ones. */ -}}
{{- define "hamid.filterEntry" -}}
- urlPrefix: {{ include "hamid.filterUrl" . }}
  filterVerb: filter
  weight: 1
  {{- if hasPrefix "https:" (include "hamid.filterUrl" .) }}
  enableHTTPS: true
  tlsConfig:
    {{- if include "hamid.isFilterInsecure" . }}
    insecure: true
    {{- else if .Values.filter.caSecret.name }}
    caFile: /etc/hamid-filter/{{ .Values.filter.caSecret.key }}
    {{- else }}
    insecure: false
    {{- end }}
  {{- else }}
  enableHTTPS: false
  {{- end }}
  httpTimeout: {{ .Values.filter.timeout }}
  nodeCacheCapable: true
  ignorable: false
{{- end -}}

{{- define "hamid.kubeSchedulerFile" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: {{ .Values.kubeScheduler.leaderElection.enabled }}
  resourceNamespace: {{ .Release.Namespace }}
  resourceName: {{ .Values.kubeScheduler.leaderElection.resourceName | default .Values.schedulerName }}
profiles:
- schedulerName: {{ .Values.schedulerName }}
extenders:
{{- if and (include "hamid.filterUrl" .) (eq .Values.filter.entry "own") }}
{{ include "hamid.filterEntry" . }}
{{- end }}
{{ include "hamid.ownEntry" . }}
{{- end -}}

{{- define "hamid.nodeFile" -}}
{{- $file := dict
    "socket" (printf "%s/agent.sock" .Values.node.socketFolder)
    "pod-resources" (printf "%s/pod-resources/kubelet.sock" .Values.node.kubeletFolder)
    "vendor" .Values.node.vendors -}}
{{- if .Values.node.gateway -}}
  {{- $_ := set $file "gateway" .Values.node.pluginsFolder -}}
  {{- $_ := set $file "kubelet-plugins" (printf "%s/device-plugins" .Values.node.kubeletFolder) -}}
{{- end -}}
{{- toYaml (merge (deepCopy .Values.node.config) $file) -}}
{{- end -}}
