{{/*
The objects of this chart stand in files/, which are those of manifests/ and config/ themselves
(links; `helm package` puts what they lead to into the archive). The templates set what values
say, and nothing else, so what kustomize installs and what this chart installs is the same.
*/}}

{{- define "gpu-extender.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end }}

{{/* Pairs of a resource's name in the files and its name by the values, as JSON. */}}
{{- define "gpu-extender.renames" -}}
{{- $names := dict
  "resourceName" "nvidia.com/gpu"
  "resourceMem" "nvidia.com/gpumem"
  "resourceMemPercentage" "nvidia.com/gpumem-percentage"
  "resourceCores" "nvidia.com/gpucores"
  "resourcePriority" "nvidia.com/priority"
  "mluResourceName" "cambricon.com/vmlu"
  "mluResourceMem" "cambricon.com/mlu.smlu.vmemory"
  "mluResourceCores" "cambricon.com/mlu.smlu.vcore"
  "hcuResourceName" "hygon.com/dcunum"
  "hcuResourceMem" "hygon.com/dcumem"
  "hcuResourceCores" "hygon.com/dcucores"
  "metaxResourceName" "metax-tech.com/sgpu"
  "metaxResourceMem" "metax-tech.com/vmemory"
  "metaxResourceCore" "metax-tech.com/vcore"
  "enflameResourceNameDRSGCU" "enflame.com/drs-gcu"
  "enflameResourceNameGCUMemory" "enflame.com/gcu-memory"
  "enflameResourceNameGCUCore" "enflame.com/gcu-core"
  "kunlunResourceName" "kunlunxin.com/xpu"
  "kunlunResourceVCountName" "kunlunxin.com/vxpu"
  "kunlunResourceVMemoryName" "kunlunxin.com/vxpu-memory"
  "vastaiResourceName" "vastaitech.com/va"
  "birenResourceName" "birentech.com/gpu" }}
{{- $pairs := list }}
{{- range $value, $old := $names }}
{{- $new := get $.Values $value }}
{{- if and $new (ne $new $old) }}
{{- $pairs = append $pairs (list $old $new) }}
{{- end }}
{{- end }}
{{- $pairs | toJson }}
{{- end }}

{{/* The text of a file with this release's namespace, scheduler and resources. */}}
{{- define "gpu-extender.text" -}}
{{- $namespace := include "gpu-extender.namespace" .root }}
{{- $text := .root.Files.Get .path }}
{{- if not $text }}{{ fail (printf "%s is not in the chart" .path) }}{{ end }}
{{- $text = $text
  | replace "namespace: gpu-extender\n" (printf "namespace: %s\n" $namespace)
  | replace "namespace=gpu-extender\n" (printf "namespace=%s\n" $namespace)
  | replace "system:serviceaccount:gpu-extender:" (printf "system:serviceaccount:%s:" $namespace)
  | replace "gpu-extender.gpu-extender.svc" (printf "gpu-extender.%s.svc" $namespace)
  | replace "gpu-extender/gpu-extender" (printf "%s/gpu-extender" $namespace)
  | replace "[kube-system, gpu-extender]" (printf "[kube-system, %s]" $namespace)
  | replace "gpu-scheduler\n" (printf "%s\n" .root.Values.schedulerName)
  | replace "[gpu-scheduler]" (printf "[%s]" .root.Values.schedulerName) }}
{{- range include "gpu-extender.renames" .root | fromJsonArray }}
{{- $old := printf "(^|[\\s'])%s($|[\\s'])" (regexQuoteMeta (first .)) }}
{{- $text = regexReplaceAll $old $text (printf "${1}%s${2}" (last .)) }}
{{- end }}
{{- $text }}
{{- end }}

{{/* The objects of a file, with the labels of the release, as JSON. */}}
{{- define "gpu-extender.objects" -}}
{{- $objects := list }}
{{- range splitList "\n---\n" (include "gpu-extender.text" .) }}
{{- $object := fromYaml . }}
{{- if hasKey $object "Error" }}{{ fail (printf "%s: %s" $.path $object.Error) }}{{ end }}
{{- $labels := dict
  "app.kubernetes.io/name" "gpu-extender"
  "app.kubernetes.io/instance" $.root.Release.Name
  "app.kubernetes.io/version" $.root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $.root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $.root.Chart.Name $.root.Chart.Version) }}
{{- $_ := set $object.metadata "labels" (mergeOverwrite (dict) ($object.metadata.labels | default dict) $labels $.root.Values.global.labels) }}
{{- with $.root.Values.global.annotations }}
{{- $_ := set $object.metadata "annotations" (mergeOverwrite (dict) ($object.metadata.annotations | default dict) .) }}
{{- end }}
{{- $objects = append $objects $object }}
{{- end }}
{{- $objects | toJson }}
{{- end }}

{{/* The same, written out. */}}
{{- define "gpu-extender.written" -}}
{{- range include "gpu-extender.objects" . | fromJsonArray }}
---
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* image, from `.image` (registry, repository, tag) with `.tag` where it has none. */}}
{{- define "gpu-extender.image" -}}
{{- $registry := .root.Values.global.imageRegistry | default .image.registry }}
{{- with $registry }}{{ . }}/{{ end }}{{ .image.repository }}:{{ .image.tag | default .tag }}
{{- end }}

{{- define "gpu-extender.extender-image" -}}
{{- $tag := .Values.global.imageTag | default .Chart.AppVersion }}
{{- include "gpu-extender.image" (dict "root" . "image" .Values.scheduler.extender.image "tag" $tag) }}
{{- end }}

{{/* Names of pull secrets as a pod has them, as JSON. */}}
{{- define "gpu-extender.pull-secrets" -}}
{{- $secrets := list }}
{{- range concat .Values.global.imagePullSecrets .Values.scheduler.extender.image.pullSecrets .Values.scheduler.kubeScheduler.image.pullSecrets }}
{{- $secrets = append $secrets (dict "name" (kindIs "map" . | ternary (get (kindIs "map" . | ternary . (dict)) "name") .)) }}
{{- end }}
{{- uniq $secrets | toJson }}
{{- end }}
