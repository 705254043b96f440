// Package dist tests a release as people get it: the archives in dist/, krew,
// kubectl and the shell's completion, all real. make dist-test runs it.
package dist
