package defaults

import corev1 "k8s.io/api/core/v1"

// LimitRange fills in the items about containers: what may be used at most is
// used by default, and requested by default where no less is.
// Source: pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem.
func LimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			milli(list)
		}
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		item.Default = with(item.Default, item.Max)
		item.DefaultRequest = with(with(item.DefaultRequest, item.Default), item.Min)
	}
}

// with is a list with what it lacks taken from another.
func with(list, more corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	for name, q := range more {
		if _, ok := list[name]; !ok {
			list[name] = q.DeepCopy()
		}
	}
	return list
}
