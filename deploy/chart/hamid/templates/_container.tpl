{{- /*
SPDX-FileCopyrightText: 2026 The libhaminodelock authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{/* The container hamid of a scheduler pod, whosever that is, and what it mounts. */}}

{{- define "hamid.probes" -}}
{{- $where := . -}}
startupProbe:
  exec: {command: [/usr/bin/hamid, probe, {{ $where | quote }}, /livez]}
  periodSeconds: 1
  failureThreshold: 30
livenessProbe:
  exec: {command: [/usr/bin/hamid, probe, {{ $where | quote }}, /livez]}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 3
readinessProbe:
  exec: {command: [/usr/bin/hamid, probe, {{ $where | quote }}]}
  periodSeconds: 5
  timeoutSeconds: 3
{{- end -}}

{{- /* patience and lock-expire are flags: `hamictl doctor` reads them from the pod. */ -}}
{{- define "hamid.schedulerContainer" -}}
name: hamid
image: {{ include "hamid.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command: [/usr/bin/hamid, scheduler]
args:
- --config=/etc/hamid/scheduler.yaml
- --patience={{ .Values.scheduler.patience }}
{{- with .Values.scheduler.lockExpire }}
- --lock-expire={{ . }}
{{- end }}
{{- if .Values.metrics.expose }}
ports:
- name: hamid-metrics
  containerPort: {{ .Values.metrics.port }}
{{- end }}
securityContext:
  {{- include "hamid.confinement" . | nindent 2 }}
  {{- if include "hamid.isBeside" . }}
  runAsNonRoot: true
  {{- with .Values.scheduler.runAsUser }}
  runAsUser: {{ . }}
  {{- end }}
  {{- end }}
  {{- if or (include "hamid.isBeside" .) .Values.seccomp.localhostProfile }}
  seccompProfile:
    {{- include "hamid.seccomp" . | nindent 4 }}
  {{- end }}
{{ include "hamid.probes" (include "hamid.probed" .) }}
resources:
  {{- toYaml .Values.scheduler.resources | nindent 2 }}
volumeMounts:
- {name: hamid-configuration, mountPath: /etc/hamid, readOnly: true}
{{- if .Values.tls.secretName }}
- {name: hamid-tls, mountPath: /etc/hamid-tls, readOnly: true}
{{- end }}
{{- if .Values.filter.caSecret.name }}
- {name: hamid-filter, mountPath: /etc/hamid-filter, readOnly: true}
{{- end }}
{{- end -}}

{{- /* What kube-scheduler mounts besides its configuration. */ -}}
{{- define "hamid.kubeSchedulerMounts" -}}
{{- if .Values.tls.secretName }}
- {name: hamid-ca, mountPath: /etc/hamid-ca, readOnly: true}
{{- if .Values.tls.clientSecretName }}
- {name: hamid-client, mountPath: /etc/hamid-client, readOnly: true}
{{- end }}
{{- end }}
{{- if and .Values.filter.caSecret.name (eq .Values.filter.entry "own") }}
- {name: hamid-filter, mountPath: /etc/hamid-filter, readOnly: true}
{{- end }}
{{- end -}}

{{- define "hamid.schedulerVolumes" -}}
- name: hamid-configuration
  configMap:
    name: {{ include "hamid.scheduler" . }}
{{- if .Values.tls.secretName }}
- name: hamid-tls
  secret:
    secretName: {{ .Values.tls.secretName }}
- name: hamid-ca
  secret:
    secretName: {{ .Values.tls.secretName }}
    items:
    - {key: ca.crt, path: ca.crt}
{{- if .Values.tls.clientSecretName }}
- name: hamid-client
  secret:
    secretName: {{ .Values.tls.clientSecretName }}
{{- end }}
{{- end }}
{{- if .Values.filter.caSecret.name }}
- name: hamid-filter
  secret:
    secretName: {{ .Values.filter.caSecret.name }}
{{- end }}
{{- end -}}
