// Command podrequests runs Kubernetes' own resource arithmetic on pods.
//
// It reads one JSON list of containers a line, in start order:
//
//	[{"lifetime": "init|sidecar|app", "amounts": {"example.com/a": 1}}, ...]
//
// and writes what k8s.io/component-helpers/resource.PodRequests counts for that pod,
// one JSON object a line: {"example.com/a": 1}.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

type container struct {
	Lifetime string           `json:"lifetime"`
	Amounts  map[string]int64 `json:"amounts"`
}

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "podrequests:", err)
		os.Exit(1)
	}
}

func answer(input io.Reader, output io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReader(input))
	decoder.DisallowUnknownFields()
	buffered := bufio.NewWriter(output)
	encoder := json.NewEncoder(buffered)
	for number := 1; ; number++ {
		var containers []container
		if err := decoder.Decode(&containers); errors.Is(err, io.EOF) {
			return buffered.Flush()
		} else if err != nil {
			return fmt.Errorf("pod %d: %w", number, err)
		}
		pod, err := podOf(containers)
		if err != nil {
			return fmt.Errorf("pod %d: %w", number, err)
		}
		counted, err := requestsOf(pod)
		if err != nil {
			return fmt.Errorf("pod %d: %w", number, err)
		}
		if err := encoder.Encode(counted); err != nil {
			return err
		}
	}
}

func podOf(containers []container) (*corev1.Pod, error) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{}
	for index, declared := range containers {
		built := corev1.Container{
			Name:      fmt.Sprintf("c%d", index),
			Resources: resourcesOf(declared.Amounts),
		}
		switch declared.Lifetime {
		case "sidecar":
			built.RestartPolicy = &always
			fallthrough
		case "init":
			if len(pod.Spec.Containers) > 0 {
				return nil, fmt.Errorf("container %d: %s after an app", index, declared.Lifetime)
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, built)
		case "app":
			pod.Spec.Containers = append(pod.Spec.Containers, built)
		default:
			return nil, fmt.Errorf("container %d: unknown lifetime %q", index, declared.Lifetime)
		}
	}
	return pod, nil
}

// resourcesOf sets limits and requests, as the API server defaults extended resources.
func resourcesOf(amounts map[string]int64) corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	for name, amount := range amounts {
		list[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
	}
	return corev1.ResourceRequirements{Limits: list, Requests: list.DeepCopy()}
}

func requestsOf(pod *corev1.Pod) (map[string]int64, error) {
	counted := map[string]int64{}
	for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		whole, ok := quantity.AsInt64()
		if !ok {
			return nil, fmt.Errorf("%s: %s is not a whole number", name, quantity.String())
		}
		counted[string(name)] = whole
	}
	return counted, nil
}
