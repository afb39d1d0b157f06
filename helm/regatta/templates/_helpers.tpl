{{- define "regatta.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "regatta.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "regatta.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "regatta.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select the pods of a component; they never change. Takes (list $ COMPONENT). */}}
{{- define "regatta.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "regatta.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of an object. Takes (list $ COMPONENT). */}}
{{- define "regatta.labels" -}}
{{- $root := index . 0 -}}
{{ include "regatta.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: regatta
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "regatta.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Name of a role's service account. Takes (list $ ROLE ACCOUNT). */}}
{{- define "regatta.account" -}}
{{- $account := index . 2 -}}
{{- if $account.create -}}
{{- $account.name | default (printf "%s-%s" (include "regatta.fullname" (index . 0)) (index . 1)) -}}
{{- else -}}
{{- required (printf "serviceAccount.name of %s: name an account, or let the chart create one" (index . 1)) $account.name -}}
{{- end -}}
{{- end -}}

{{/* The start of every pod's spec. Takes (list $ ROLE ACCOUNT). */}}
{{- define "regatta.pod" -}}
{{- $root := index . 0 -}}
serviceAccountName: {{ include "regatta.account" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ $root.Values.podSecurity.runAsUser | int64 }}
  runAsGroup: {{ $root.Values.podSecurity.runAsGroup | int64 }}
  fsGroup: {{ $root.Values.podSecurity.fsGroup | int64 }}
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/* The start of every container. Takes (list $ RESOURCES). */}}
{{- define "regatta.container" -}}
{{- $root := index . 0 -}}
image: {{ include "regatta.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml (index . 1) | nindent 2 }}
{{- end -}}

{{/* Placement of a role's pods. Takes (list $ COMPONENT ROLE-VALUES CLASS). */}}
{{- define "regatta.placement" -}}
{{- $root := index . 0 -}}
{{- $role := index . 2 -}}
{{- with $role.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $role.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $role.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $role.priorityClassName }}
priorityClassName: {{ $role.priorityClassName }}
{{- else if $root.Values.priorityClasses.create }}
priorityClassName: {{ include "regatta.fullname" $root }}-{{ index . 3 }}
{{- end }}
{{- if $root.Values.topologySpread.enabled }}
topologySpreadConstraints:
  {{- range $root.Values.topologySpread.keys }}
  - topologyKey: {{ . }}
    maxSkew: {{ $root.Values.topologySpread.maxSkew | int64 }}
    whenUnsatisfiable: {{ $root.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "regatta.selector" (list $root (index $ 1)) | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Variables of the log and of a certificate authority, of every container. */}}
{{- define "regatta.env" -}}
- name: REGATTA_LOG
  value: {{ .Values.log.filter | quote }}
- name: REGATTA_LOG_FORMAT
  value: {{ .Values.log.format | quote }}
{{- if .Values.ca.configMap }}
- name: SSL_CERT_FILE
  value: /etc/regatta/ca/{{ .Values.ca.key }}
{{- end }}
{{- end -}}

{{/* Where the database is. */}}
{{- define "regatta.env.database" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "database.url.secret: name the secret with the Postgres URL" .Values.database.url.secret }}
      key: {{ .Values.database.url.key }}
{{- if .Values.database.ca.secret }}
- name: PGSSLROOTCERT
  value: /etc/regatta/database/ca.crt
{{- end }}
{{- end -}}

{{/* Variables of the three stores and of traces, of every role. */}}
{{- define "regatta.env.stores" -}}
- name: AMQP_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "queue.url.secret: name the secret with the AMQP URL" .Values.queue.url.secret }}
      key: {{ .Values.queue.url.key }}
{{- if .Values.queue.url.plain }}
- name: REGATTA_AMQP_PLAIN
  value: "true"
{{- end }}
- name: REGATTA_QUEUE_PREFIX
  value: {{ .Values.queue.prefix | quote }}
{{- if .Values.queue.compactTranscripts }}
- name: REGATTA_COMPACT_TRANSCRIPTS
  value: "true"
{{- end }}
{{ include "regatta.env.database" . }}
- name: REGATTA_DATABASE_CONNECTIONS
  value: {{ .Values.database.connections | int64 | quote }}
- name: REGATTA_SCHEMA
  value: {{ ternary "check" "migrate" .Values.migrate.enabled }}
- name: REGATTA_BUCKET
  value: {{ required "bucket.name: name the bucket" .Values.bucket.name | quote }}
- name: REGATTA_BUCKET_PREFIX
  value: {{ .Values.bucket.prefix | quote }}
- name: AWS_REGION
  value: {{ .Values.bucket.region | quote }}
{{- if .Values.bucket.endpoint }}
- name: S3_ENDPOINT
  value: {{ .Values.bucket.endpoint | quote }}
{{- if .Values.bucket.plainHttp }}
- name: REGATTA_S3_PLAIN_HTTP
  value: "true"
{{- end }}
{{- end }}
{{- with .Values.bucket.credentials }}
{{- if .secret }}
- name: AWS_ACCESS_KEY_ID
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .accessKeyIdKey }}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .secretAccessKeyKey }}
{{- end }}
{{- end }}
{{- with .Values.traces }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
{{- if .plainHttp }}
- name: REGATTA_OTLP_PLAIN_HTTP
  value: "true"
{{- end }}
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .share | quote }}
{{- if .headers.secret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .headers.secret }}
      key: {{ .headers.key }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where clients find the coordinators. */}}
{{- define "regatta.env.client" -}}
- name: REGATTA_COORDINATOR
  value: {{ ternary "https" "http" (ne .Values.tls.secret "") }}://{{ include "regatta.fullname" . }}-coordinator.{{ .Release.Namespace }}.svc:{{ .Values.coordinator.service.port | int64 }}
{{- if not .Values.tls.secret }}
# Within the cluster, where the proxy that ends TLS is not on the way.
- name: REGATTA_PLAIN_HTTP
  value: "true"
{{- end }}
{{- if .Values.coordinator.token.secret }}
- name: REGATTA_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ .Values.coordinator.token.secret }}
      key: {{ .Values.coordinator.token.key }}
{{- end }}
{{- with .Values.tls }}
{{- if and .secret .client.caSecret }}
- name: REGATTA_CA
  value: /etc/regatta/api/{{ .client.caKey }}
{{- end }}
{{- if and .secret .client.secret }}
- name: REGATTA_CLIENT_CERT
  value: /etc/regatta/client/tls.crt
- name: REGATTA_CLIENT_KEY
  value: /etc/regatta/client/tls.key
{{- end }}
{{- end }}
{{- end -}}

{{/* Mounts of clients: the API's authority, and their own certificate. */}}
{{- define "regatta.mounts.client" -}}
{{ include "regatta.mounts" . }}
{{- with .Values.tls }}
{{- if and .secret .client.caSecret }}
- name: api-ca
  mountPath: /etc/regatta/api
  readOnly: true
{{- end }}
{{- if and .secret .client.secret }}
- name: client
  mountPath: /etc/regatta/client
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/* Volumes of clients. */}}
{{- define "regatta.volumes.client" -}}
{{ include "regatta.volumes" . }}
{{- with .Values.tls }}
{{- if and .secret .client.caSecret }}
- name: api-ca
  secret:
    secretName: {{ .client.caSecret }}
    # Its key, if there is one, is not for clients.
    items: [{ key: {{ .client.caKey }}, path: {{ .client.caKey }} }]
{{- end }}
{{- if and .secret .client.secret }}
- name: client
  secret:
    secretName: {{ .client.secret }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Mounts of every container. */}}
{{- define "regatta.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.database.ca.secret }}
- name: database-ca
  mountPath: /etc/regatta/database
  readOnly: true
{{- end }}
{{- if .Values.ca.configMap }}
- name: ca
  mountPath: /etc/regatta/ca
  readOnly: true
{{- end }}
{{- end -}}

{{/* Volumes of every pod. */}}
{{- define "regatta.volumes" -}}
- name: tmp
  emptyDir:
    # Four uploads at once, and what agents write.
    sizeLimit: 2Gi
{{- if .Values.database.ca.secret }}
- name: database-ca
  secret:
    secretName: {{ .Values.database.ca.secret }}
    items:
      - key: {{ .Values.database.ca.key }}
        path: ca.crt
{{- end }}
{{- if .Values.ca.configMap }}
- name: ca
  configMap:
    name: {{ .Values.ca.configMap }}
{{- end }}
{{- end -}}

{{/* Probes of a server at the port `http`. Alive while it answers; ready while it is connected. Takes the path of readiness. */}}
{{- define "regatta.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  failureThreshold: 150
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: {{ . }}, port: http }
  periodSeconds: 5
  timeoutSeconds: 3
{{- end -}}

{{/* A pool with its defaults, as YAML. Takes (list $ POOL). */}}
{{- define "regatta.pool" -}}
{{- mergeOverwrite (deepCopy (index . 0).Values.worker.defaults) (deepCopy (index . 1 | default dict)) | toYaml -}}
{{- end -}}

{{/* What workers do for specs, as YAML. */}}
{{- define "regatta.worker.policy" -}}
{{- $policy := deepCopy .Values.worker.policy -}}
{{- if and .Values.simulator.enabled (not (dig "egress" "private" nil $policy)) -}}
{{- $usual := list "10.0.0.0/8" "172.16.0.0/12" "192.168.0.0/16" "100.64.0.0/10" "fc00::/7" -}}
{{- $policy = merge (dict "egress" (dict "private" $usual)) $policy -}}
{{- end -}}
{{- toYaml $policy -}}
{{- end -}}

{{/* Name of a pool's workers. Takes (list $ POOL). */}}
{{- define "regatta.worker.name" -}}
{{ include "regatta.fullname" (index . 0) }}-worker-{{ index . 1 }}
{{- end -}}

{{/* Namespace of the pods of a pool's agents. Takes (list $ POOL AGENT-PODS). */}}
{{- define "regatta.agents.namespace" -}}
{{- $namespace := required (printf "worker.pools.%s.agentPods.namespace: name a namespace for the agents" (index . 1)) (index . 2).namespace -}}
{{- if eq $namespace (index . 0).Release.Namespace -}}
{{- fail (printf "worker.pools.%s.agentPods.namespace: %s is the release's, whose secrets agents' pods could be given; name another" (index . 1) $namespace) -}}
{{- end -}}
{{- $namespace -}}
{{- end -}}

{{/* Labels of the pods of a pool's agents. Takes (list $ POOL). */}}
{{- define "regatta.agents.labels" -}}
regatta/pool: {{ include "regatta.worker.name" . }}
{{- end -}}

{{/* Sum of the concurrency of a pool's endpoints; 0 when it serves all. */}}
{{- define "regatta.pool.concurrency" -}}
{{- $sum := 0 -}}
{{- range .endpoints }}{{ $sum = add $sum (.concurrency | int64) }}{{ end -}}
{{- $sum -}}
{{- end -}}

{{/* Most workers of a pool: no more than its endpoints keep busy. */}}
{{- define "regatta.pool.max" -}}
{{- $max := .autoscaling.maxReplicas | int64 -}}
{{- $sum := include "regatta.pool.concurrency" . | int64 -}}
{{- if gt $sum 0 -}}
{{- $per := .sessionsPerReplica | int64 -}}
{{- $max = min $max (div (add $sum $per -1) $per) -}}
{{- end -}}
{{- max 1 $max (.autoscaling.minReplicas | int64) -}}
{{- end -}}

{{/* Whether the smoke test can be run: workers reach its simulated endpoint, at an address of the cluster, only if their policy names it. */}}
{{- define "regatta.smoke" -}}
{{- if and .Values.smoke.enabled (or .Values.simulator.enabled (dig "egress" "private" nil .Values.worker.policy)) }}true{{ end -}}
{{- end -}}
