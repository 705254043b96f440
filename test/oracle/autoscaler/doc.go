// Package autoscaler compares plugins/hpa with the HorizontalPodAutoscaler
// controller: how many pods samples of their usage ask for, and what windows and
// rates make of that. Its tests are all there is.
package autoscaler
