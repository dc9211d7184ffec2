{{- /*
SPDX-FileCopyrightText: 2026 The libhaminodelock authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{/* Names and labels, and what follows from several values. */}}

{{- define "hamid.isBeside" -}}
{{- if eq .Values.mode "beside-hami" }}yes{{ end -}}
{{- end -}}

{{- define "hamid.scheduler" -}}{{ .Values.fullnameOverride }}-scheduler{{- end -}}
{{- define "hamid.node" -}}{{ .Values.fullnameOverride }}-node{{- end -}}

{{- define "hamid.schedulerAccount" -}}
{{- if include "hamid.isBeside" . -}}
{{ .Values.hami.serviceAccount }}
{{- else -}}
{{ .Values.serviceAccount.schedulerName | default (include "hamid.scheduler" .) }}
{{- end -}}
{{- end -}}

{{- define "hamid.nodeAccount" -}}
{{ .Values.serviceAccount.nodeName | default (include "hamid.node" .) }}
{{- end -}}

{{- define "hamid.hasNode" -}}
{{- if kindIs "invalid" .Values.node.enabled -}}
{{- if not (include "hamid.isBeside" .) }}yes{{ end -}}
{{- else if .Values.node.enabled }}yes{{ end -}}
{{- end -}}

{{- define "hamid.hasLeases" -}}
{{- if eq .Values.scheduler.lockStore "lease+mirror" }}yes{{ end -}}
{{- end -}}

{{- /* hamid.labels takes a list: the root, and the name of the part, which selects its pods. */ -}}
{{- define "hamid.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/part-of: hamid
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "hamid.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* v1.37.2+vendor.1 and v1.37.2-vendor are kube-scheduler v1.37.2. */ -}}
{{- define "hamid.kubeSchedulerImage" -}}
{{- $image := .Values.kubeScheduler.image -}}
{{ $image.repository }}:{{ $image.tag | default (regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" .Capabilities.KubeVersion.Version) }}
{{- end -}}

{{- define "hamid.seccomp" -}}
{{- if .Values.seccomp.localhostProfile -}}
type: Localhost
localhostProfile: {{ .Values.seccomp.localhostProfile | quote }}
{{- else -}}
type: RuntimeDefault
{{- end -}}
{{- end -}}

{{- /* Nothing can be written, no capability, and no way to get one. */ -}}
{{- define "hamid.confinement" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "hamid.filterUrl" -}}
{{- if .Values.filter.url -}}
{{ .Values.filter.url }}
{{- else if include "hamid.isBeside" . -}}
https://127.0.0.1:443
{{- end -}}
{{- end -}}

{{- define "hamid.isFilterInsecure" -}}
{{- $url := include "hamid.filterUrl" . -}}
{{- if hasPrefix "https:" $url -}}
{{- if kindIs "invalid" .Values.filter.insecure -}}
{{- if regexMatch "^https://(127[.]0[.]0[.]1|localhost|\\[::1\\])(:|/|$)" $url }}yes{{ end -}}
{{- else if .Values.filter.insecure }}yes{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Where hamid's probes ask. The exposed listener answers on the loopback as well. */ -}}
{{- define "hamid.probed" -}}
{{- if .Values.tls.secretName }}https://{{ end }}127.0.0.1:{{ .Values.metrics.port }}
{{- end -}}

{{- define "hamid.metricsListen" -}}
{{- if .Values.metrics.expose }}0.0.0.0{{ else }}127.0.0.1{{ end }}:{{ .Values.metrics.port }}
{{- end -}}

{{- define "hamid.schedulerSubject" -}}
- kind: ServiceAccount
  name: {{ include "hamid.schedulerAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}
