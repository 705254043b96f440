package dist

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var (
	distFlag  = flag.String("dist", "", "folder with the release; make dist makes it")
	toolsFlag = flag.String("tools", "", "folder with krew and its validator; make dist-test builds them")
)

// release is a folder of archives that goreleaser has made.
type release struct {
	dir     string
	Version string `json:"version"` // without the v
}

// made is the release to test. Without one there is nothing to test.
func made(t *testing.T) release {
	t.Helper()
	if *distFlag == "" {
		t.Skip("no release to test: run make dist-test")
	}
	data, err := os.ReadFile(filepath.Join(*distFlag, "metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := release{dir: *distFlag}
	if err := json.Unmarshal(data, &r); err != nil || r.Version == "" {
		t.Fatalf("metadata.json has the version %q: %v", r.Version, err)
	}
	return r
}

// host is the platform the test runs on.
func (r release) host(t *testing.T) string {
	t.Helper()
	platform := runtime.GOOS + "_" + runtime.GOARCH
	if platforms[platform] != "tar.gz" {
		t.Skipf("no release is made for %s that could be installed here", platform)
	}
	return platform
}

func (r release) archive(platform string) string {
	return filepath.Join(r.dir, "kubectl-rollout_sim_v"+r.Version+"_"+platform+"."+platforms[platform])
}

func (r release) sbom(platform string) string {
	return filepath.Join(r.dir, "kubectl-rollout_sim_v"+r.Version+"_"+platform+".sbom.json")
}

// checksums are the sums in checksums.txt, by the names of the files.
func (r release) checksums(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			sums[name] = sum
		}
	}
	return sums
}
