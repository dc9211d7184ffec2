{{- /*
SPDX-FileCopyrightText: 2026 The libhaminodelock authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{/* The patches of HAMi's Deployment in mode beside-hami. Lists are merged by name and by mountPath. */}}

{{- define "hamid.put" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Values.hami.deployment }}
spec:
  template:
    metadata:
      annotations:
        checksum/hamid: {{ list (include "hamid.schedulerFile" .) (include "hamid.kubeSchedulerFile" .) | join "\n" | sha256sum }}
        {{- with .Values.scheduler.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      containers:
      {{- with include "hamid.kubeSchedulerMounts" . | trim }}
      - name: {{ $.Values.hami.kubeSchedulerContainer }}
        volumeMounts:
        {{- . | nindent 8 }}
      {{- end }}
      - {{ include "hamid.schedulerContainer" . | nindent 8 | trim }}
      volumes:
      - name: {{ .Values.hami.configVolume }}
        configMap:
          name: {{ include "hamid.scheduler" . }}
      {{- include "hamid.schedulerVolumes" . | nindent 6 }}
{{- end -}}

{{- define "hamid.away" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Values.hami.deployment }}
spec:
  template:
    metadata:
      annotations:
        checksum/hamid: null
        {{- range $name, $_ := .Values.scheduler.podAnnotations }}
        {{ $name }}: null
        {{- end }}
    spec:
      containers:
      {{- with include "hamid.kubeSchedulerMounts" . | trim }}
      - name: {{ $.Values.hami.kubeSchedulerContainer }}
        volumeMounts:
        {{- range fromYamlArray . }}
        - {mountPath: {{ .mountPath }}, $patch: delete}
        {{- end }}
      {{- end }}
      - {name: hamid, $patch: delete}
      volumes:
      - name: {{ .Values.hami.configVolume }}
        configMap:
          name: {{ .Values.hami.configMap }}
      {{- range fromYamlArray (include "hamid.schedulerVolumes" .) }}
      - {name: {{ .name }}, $patch: delete}
      {{- end }}
{{- end -}}
