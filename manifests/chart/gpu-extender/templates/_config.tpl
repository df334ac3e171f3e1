{{- define "gpu-extender.scheduler-config" -}}
{{- $text := include "gpu-extender.text" (dict "root" . "path" "files/kube-scheduler.yaml") }}
{{- $text | replace "httpTimeout: 30s" (printf "httpTimeout: %vs" .Values.scheduler.extenderHTTPTimeout) }}
{{- end }}

{{- define "gpu-extender.device-config" -}}
{{- $policy := .Values.scheduler.defaultSchedulerPolicy }}
{{- with index .Values "device-config" "content" }}{{ . }}{{ else }}
{{- include "gpu-extender.text" (dict "root" . "path" "files/device-config.yaml")
  | replace "defaultMemory: 0 #" (printf "defaultMemory: %d #" (int $policy.defaultMemory))
  | replace "defaultCores: 0 #" (printf "defaultCores: %d #" (int $policy.defaultCores))
  | replace "defaultGPUNum: 1 #" (printf "defaultGPUNum: %d #" (int $policy.defaultGPUNum))
  | replace "overwriteEnv: false" (printf "overwriteEnv: %v" .Values.scheduler.overwriteEnv)
  | replace "runtimeClassName: \"\"" (printf "runtimeClassName: %q" .Values.devicePlugin.runtimeClassName) }}
{{- end }}
{{- end }}
