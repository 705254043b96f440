package dist

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

// platforms are those a release is made for, with the ending of their archives.
var platforms = map[string]string{
	"linux_amd64": "tar.gz", "linux_arm64": "tar.gz",
	"darwin_amd64": "tar.gz", "darwin_arm64": "tar.gz",
	"windows_amd64": "zip", "windows_arm64": "zip",
}

// entry is what an archive says of a file.
type entry struct {
	mode fs.FileMode
	size int64
}

// TestArchives looks into each archive: what a platform needs is there, and may be run.
func TestArchives(t *testing.T) {
	r := made(t)
	for platform, ending := range platforms {
		t.Run(platform, func(t *testing.T) {
			binary := "kubectl-rollout_sim"
			if ending == "zip" {
				binary += ".exe"
			}
			files := entries(t, r.archive(platform))
			got := map[string]fs.FileMode{}
			for name, e := range files {
				got[name] = e.mode
			}
			want := map[string]fs.FileMode{"LICENSE": 0o644, "README.md": 0o644, "kubectl_complete-rollout_sim": 0o755, binary: 0o755}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files and their modes (-want +got):\n%s", diff)
			}
			t.Logf("%s: %.1f MB", binary, float64(files[binary].size)/1e6)
		})
	}
}

// TestChecksums computes what checksums.txt says of each file, and that it leaves none out.
func TestChecksums(t *testing.T) {
	r := made(t)
	told := r.checksums(t)
	for platform := range platforms {
		for _, path := range []string{r.archive(platform), r.sbom(platform)} {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
				continue
			}
			sum := sha256.Sum256(data)
			name := filepath.Base(path)
			if got := hex.EncodeToString(sum[:]); told[name] != got {
				t.Errorf("%s: %s, but checksums.txt says %q", name, got, told[name])
			}
		}
	}
}

// TestSBOM holds the list of modules against what the program is known to use.
func TestSBOM(t *testing.T) {
	r := made(t)
	for platform := range platforms {
		data, err := os.ReadFile(r.sbom(platform))
		if err != nil {
			t.Error(err)
			continue
		}
		var bom struct {
			BOMFormat  string `json:"bomFormat"`
			Components []struct{ Name, Version, PURL string }
		}
		if err := json.Unmarshal(data, &bom); err != nil || bom.BOMFormat != "CycloneDX" {
			t.Errorf("%s: format %q, %v", platform, bom.BOMFormat, err)
		}
		versions := map[string]string{}
		for _, c := range bom.Components {
			versions[c.Name] = c.Version
		}
		for _, name := range []string{"std", "k8s.io/client-go", "k8s.io/kubectl", "github.com/spf13/cobra"} {
			if versions[name] == "" {
				t.Errorf("%s: %s is not among its %d components", platform, name, len(bom.Components))
			}
		}
		if len(versions) > 0 && versions["k8s.io/kubernetes"] != "" {
			t.Errorf("%s: k8s.io/kubernetes is linked", platform)
		}
	}
}

// TestSize holds the program against kubectl, built with the same flags: who
// has the one has room for the other.
func TestSize(t *testing.T) {
	r := made(t)
	programs, err := cluster.Build(t.Context(), t.Output(), cluster.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(programs[cluster.Kubectl])
	if err != nil {
		t.Fatal(err)
	}
	ours := entries(t, r.archive(r.host(t)))["kubectl-rollout_sim"].size
	t.Logf("kubectl-rollout_sim %.1f MB, kubectl %.1f MB", float64(ours)/1e6, float64(info.Size())/1e6)
	if ours > info.Size() {
		t.Errorf("%d bytes, %d more than kubectl", ours, ours-info.Size())
	}
}

// entries lists the files in an archive.
func entries(t *testing.T, path string) map[string]entry {
	t.Helper()
	list := listTar
	if strings.HasSuffix(path, ".zip") {
		list = listZip
	}
	files, err := list(path)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return files
}

func listZip(path string) (map[string]entry, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }()
	files := map[string]entry{}
	for _, f := range archive.File {
		files[f.Name] = entry{f.Mode(), int64(f.UncompressedSize64)}
	}
	return files, nil
}

func listTar(path string) (map[string]entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	files := map[string]entry{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("after %d files: %w", len(files), err)
		}
		files[header.Name] = entry{header.FileInfo().Mode(), header.Size}
	}
}
