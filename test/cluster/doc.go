// Package cluster runs a real control plane on this machine for tests: etcd,
// kube-apiserver and, as asked, kube-controller-manager, kube-scheduler and
// kwok with made-up nodes. The programs are built from their Go modules (see
// tools/) into the user's cache folder, listen on loopback only and keep their
// data in a temporary folder. All of it goes when Close is called or when the
// process that called Start ends in any way, killed included.
package cluster
