package main

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const admissionUID = types.UID("705ab4f5-6393-11e8-b7cc-42010a800002")

// templatedPod is a pod as kube-apiserver sends it for admission: made by a controller, so
// without a name and a namespace yet, with defaults filled in.
func templatedPod() *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "trainer-7d4b9-",
			Annotations:  map[string]string{"nvidia.com/use-gputype": "A10"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:            "train",
				Image:           "registry.example/train:1",
				Resources:       limitedTo("cpu", "500m", "nvidia.com/gpumem", "3k"),
				ImagePullPolicy: corev1.PullIfNotPresent,
			}},
			RestartPolicy: corev1.RestartPolicyAlways,
			SchedulerName: corev1.DefaultSchedulerName,
		},
	}
}

// admissions are the reviews that kube-apiserver sends and those that it reads, by file.
func admissions() map[string]any {
	pod, err := json.Marshal(templatedPod())
	if err != nil {
		panic(err)
	}
	kind := metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}
	resource := metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	user := authenticationv1.UserInfo{
		Username: "system:serviceaccount:kube-system:replicaset-controller",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	dryRun := false
	options := runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`)}
	patch := []byte(`[{"op":"add","path":"/spec/schedulerName","value":"gpu-scheduler"}]`)
	warnings := []string{"container 'train': fast & <quiet>"}
	denied := &metav1.Status{
		Status:  metav1.StatusFailure,
		Message: "pod research/trainer-*: container 'train' is privileged",
		Reason:  metav1.StatusReasonForbidden,
		Code:    403,
	}
	v1 := metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}
	v1beta1 := metav1.TypeMeta{APIVersion: "admission.k8s.io/v1beta1", Kind: "AdmissionReview"}
	jsonPatch, betaJSONPatch := admissionv1.PatchTypeJSONPatch, admissionv1beta1.PatchTypeJSONPatch
	return map[string]any{
		"admission_v1.json": admissionv1.AdmissionReview{TypeMeta: v1, Request: &admissionv1.AdmissionRequest{
			UID: admissionUID, Kind: kind, Resource: resource, RequestKind: &kind, RequestResource: &resource,
			Namespace: "research", Operation: admissionv1.Create, UserInfo: user,
			Object: runtime.RawExtension{Raw: pod}, DryRun: &dryRun, Options: options,
		}},
		"admission_v1_allowed.json": admissionv1.AdmissionReview{TypeMeta: v1, Response: &admissionv1.AdmissionResponse{
			UID: admissionUID, Allowed: true, Patch: patch, PatchType: &jsonPatch, Warnings: warnings,
		}},
		"admission_v1_denied.json": admissionv1.AdmissionReview{TypeMeta: v1, Response: &admissionv1.AdmissionResponse{
			UID: admissionUID, Result: denied, Warnings: warnings,
		}},
		"admission_v1beta1.json": admissionv1beta1.AdmissionReview{TypeMeta: v1beta1, Request: &admissionv1beta1.AdmissionRequest{
			UID: admissionUID, Kind: kind, Resource: resource, RequestKind: &kind, RequestResource: &resource,
			Namespace: "research", Operation: admissionv1beta1.Create, UserInfo: user,
			Object: runtime.RawExtension{Raw: pod}, DryRun: &dryRun, Options: options,
		}},
		"admission_v1beta1_allowed.json": admissionv1beta1.AdmissionReview{TypeMeta: v1beta1, Response: &admissionv1beta1.AdmissionResponse{
			UID: admissionUID, Allowed: true, Patch: patch, PatchType: &betaJSONPatch, Warnings: warnings,
		}},
		"admission_v1beta1_denied.json": admissionv1beta1.AdmissionReview{TypeMeta: v1beta1, Response: &admissionv1beta1.AdmissionResponse{
			UID: admissionUID, Result: denied, Warnings: warnings,
		}},
	}
}
