// Package defaults fills in what a kube-apiserver 1.37 fills in when it decodes
// a Deployment, a ReplicaSet or a Pod, and clears the fields whose feature gates
// are off by default. Its functions change the object given to them: they stand
// for the decoding step, before anything is shared.
//
// The facts are those of pkg/apis/apps/v1/defaults.go,
// pkg/apis/core/v1/defaults.go and the generated lists of what reaches into pod
// templates. Calling any of them twice is the same as calling it once.
package defaults

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Deployment fills in a Deployment and its template. Nothing is copied from the
// template: apps/v1 has no defaults for the selector and the labels.
// Source: SetObjectDefaults_Deployment.
func Deployment(d *appsv1.Deployment) {
	spec := &d.Spec
	orElse(&spec.Replicas, 1)
	orElse(&spec.RevisionHistoryLimit, 10)
	orElse(&spec.ProgressDeadlineSeconds, 600)
	strategy(&spec.Strategy)
	template(&spec.Template)
}

// ReplicaSet fills in a ReplicaSet and its template.
// Source: SetObjectDefaults_ReplicaSet.
func ReplicaSet(rs *appsv1.ReplicaSet) {
	orElse(&rs.Spec.Replicas, 1)
	template(&rs.Spec.Template)
}

// Pod fills in a real Pod. It does more than a template gets: service links,
// requests taken from limits, host ports under hostNetwork, and a negative
// grace period becomes 1. Source: SetObjectDefaults_Pod.
func Pod(p *corev1.Pod) {
	spec := &p.Spec
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		spec.TerminationGracePeriodSeconds = nil
		orElse(&spec.TerminationGracePeriodSeconds, 1)
	}
	orElse(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			requestsFromLimits(&list[i].Resources)
			if spec.HostNetwork {
				hostPorts(list[i].Ports)
			}
		}
	}
	podSpec(spec)
	dropDisabled(spec)
	BesideSpec(p)
}

// BesideSpec is the part of Pod that has nothing to do with the spec.
func BesideSpec(p *corev1.Pod) {
	podIPs(&p.Status)
	dropAnnotations(p.Annotations)
}

func template(t *corev1.PodTemplateSpec) {
	podSpec(&t.Spec)
	dropDisabled(&t.Spec)
	dropAnnotations(t.Annotations)
}

func strategy(s *appsv1.DeploymentStrategy) {
	orString(&s.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if s.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	if s.RollingUpdate == nil {
		s.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	orElse(&s.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
	orElse(&s.RollingUpdate.MaxSurge, intstr.FromString("25%"))
}

func podSpec(spec *corev1.PodSpec) {
	orString(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orString(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orString(&spec.SchedulerName, corev1.DefaultSchedulerName)
	orElse(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	orElse(&spec.SecurityContext, corev1.PodSecurityContext{})
	// The two names of one field: the newer one wins.
	orString(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName

	for i := range spec.Volumes {
		volume(&spec.Volumes[i].VolumeSource)
	}
	eachContainer(spec, container)
	milli(spec.Overhead)
	if spec.Resources != nil {
		resources(spec.Resources)
	}
}

// podIPs keeps the singular and the plural address of a status alike; the
// singular one wins when they differ.
func podIPs(status *corev1.PodStatus) {
	switch {
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
}

// eachContainer visits init, regular and ephemeral containers.
func eachContainer(spec *corev1.PodSpec, visit func(*corev1.Container)) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		visit((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// orElse points *p at value when it points nowhere.
func orElse[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

// orString sets *s when it is empty.
func orString[T ~string](s *T, value T) {
	if *s == "" {
		*s = value
	}
}
