{{- define "ohgw.name" -}}
{{- $name := ternary .Release.Name (printf "%s-ohgw" .Release.Name) (contains "ohgw" .Release.Name) }}
{{- .Values.nameOverride | default $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- /* Labels by which pods are chosen: a list of the root and the component. */}}
{{- define "ohgw.selector" -}}
app.kubernetes.io/name: ohgw
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "ohgw.labels" -}}
{{ include "ohgw.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{- define "ohgw.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* A variable from a Secret: a list of its name and the reference. */}}
{{- define "ohgw.fromSecret" -}}
- name: {{ index . 0 }}
  valueFrom: {secretKeyRef: {name: {{ (index . 1).name | quote }}, key: {{ (index . 1).key | quote }}}}
{{- end }}

{{- /* How a container reaches the database: a list of the root, the URL and the Secret of the password. */}}
{{- define "ohgw.stateEnv" -}}
{{- $ := index . 0 }}
{{- if $.Values.state.urlSecret.name }}
{{ include "ohgw.fromSecret" (list "OHGW_STATE" $.Values.state.urlSecret) }}
{{- else }}
- {name: OHGW_STATE, value: {{ index . 1 | quote }}}
{{- if (index . 2).name }}
{{ include "ohgw.fromSecret" (list "PGPASSWORD" (index . 2)) }}
{{- end }}
{{- end }}
{{- if $.Values.state.caSecret.name }}
- {name: PGSSLROOTCERT, value: {{ printf "/etc/ohgw/ca/%s" $.Values.state.caSecret.key | quote }}}
{{- end }}
{{- end }}

{{- define "ohgw.agentServers" -}}
{{- $urls := list }}
{{- $agents := printf "%s-agents" (include "ohgw.name" .) }}
{{- if .Values.agents.enabled }}
{{- if eq .Values.agents.discovery "dns" }}
{{- $urls = append $urls (printf "dns+http://_http._tcp.%s.%s.svc.%s" $agents .Release.Namespace .Values.agents.clusterDomain) }}
{{- else }}
{{- range $i := until (int .Values.agents.replicas) }}
{{- $urls = append $urls (printf "http://%s-%d.%s.%s.svc.%s:8000" $agents $i $agents $.Release.Namespace $.Values.agents.clusterDomain) }}
{{- end }}
{{- end }}
{{- end }}
{{- $urls = concat $urls .Values.agentServers.urls }}
{{- if not $urls }}{{ fail "there are no agent-servers: set agents.enabled or agentServers.urls" }}{{ end }}
{{- join "," $urls }}
{{- end }}

{{- define "ohgw.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "ohgw.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* The workspace of a conversation has the same path here and on its agent-server. */}}
{{- define "ohgw.homeEnv" -}}
- {name: HOME, value: /workspace/home}
- {name: XDG_STATE_HOME, value: /workspace}
{{- end }}

{{- define "ohgw.mounts" -}}
- {name: workspace, mountPath: /workspace}
- {name: tmp, mountPath: /tmp}
{{- if .Values.state.caSecret.name }}
- {name: ca, mountPath: /etc/ohgw/ca, readOnly: true}
{{- end }}
{{- end }}

{{- define "ohgw.volumes" -}}
- {name: workspace, emptyDir: {}}
- {name: tmp, emptyDir: {}}
{{- if .Values.state.caSecret.name }}
- {name: ca, secret: {secretName: {{ .Values.state.caSecret.name | quote }}}}
{{- end }}
{{- end }}
