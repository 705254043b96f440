package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Program is one of the binaries of a control plane.
type Program string

// The programs, by the names of their binaries.
const (
	Etcd              Program = "etcd"
	APIServer         Program = "kube-apiserver"
	ControllerManager Program = "kube-controller-manager"
	Scheduler         Program = "kube-scheduler"
	Kubectl           Program = "kubectl"
	Kwok              Program = "kwok"
)

// source is where a program is built from.
type source struct {
	tools   string // folder under tools/ whose go.mod pins the versions
	module  string
	pkg     string
	stamped bool // the Kubernetes version is linked in
}

func upstream(command string) source {
	return source{"kubernetes", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/" + command, true}
}

var sources = map[Program]source{
	Etcd:              {"kubernetes", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", false},
	APIServer:         upstream("kube-apiserver"),
	ControllerManager: upstream("kube-controller-manager"),
	Scheduler:         upstream("kube-scheduler"),
	Kubectl:           upstream("kubectl"),
	Kwok:              {"kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", false},
}

// AllPrograms are all there is to build.
var AllPrograms = []Program{Etcd, APIServer, Kubectl, ControllerManager, Scheduler, Kwok}

// Build makes the programs that the cache folder lacks and returns the paths of
// all. Cold it takes about ten minutes on two cores; progress may be nil.
// Tests that build at the same time wait for each other.
func Build(ctx context.Context, progress io.Writer, programs ...Program) (map[Program]string, error) {
	b, err := newBuilder(ctx, progress)
	if err != nil {
		return nil, err
	}
	unlock, err := b.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	paths := map[Program]string{}
	for _, p := range programs {
		if paths[p], err = b.program(ctx, p); err != nil {
			return nil, fmt.Errorf("building %s: %w", p, err)
		}
	}
	return paths, nil
}

// builder builds into one folder of the user's cache.
type builder struct {
	tools    string // this package's tools folder
	cache    string
	progress io.Writer
}

func newBuilder(ctx context.Context, progress io.Writer) (*builder, error) {
	if progress == nil {
		progress = io.Discard
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	tools, err := toolsFolder(ctx)
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(user, "rollout-sim", "tools")
	return &builder{tools, cache, progress}, os.MkdirAll(cache, 0o755)
}

// toolsFolder finds tools/ beside this file, or through the module when paths were trimmed.
func toolsFolder(ctx context.Context) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if dir := filepath.Join(filepath.Dir(file), "tools"); filepath.IsAbs(file) && exists(dir) {
		return dir, nil
	}
	out, err := goCommand(ctx, "", "list", "-f", "{{.Dir}}", "github.com/rollout-sim/kubectl-rollout-sim/test/cluster")
	if err != nil {
		return "", fmt.Errorf("finding the tools' modules: %w", err)
	}
	return filepath.Join(strings.TrimSpace(out), "tools"), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lock keeps other processes from building the same.
func (b *builder) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(b.cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// program is the path of one binary, built when it is not there.
func (b *builder) program(ctx context.Context, p Program) (string, error) {
	src := sources[p]
	version, err := b.version(src)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.cache, filepath.Base(strings.TrimSuffix(src.module, "/server/v3"))+"-"+version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if p == Kwok {
		if err := b.stages(ctx, src, filepath.Join(dir, stagesFile)); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, string(p))
	if runnable(path) {
		return path, nil
	}
	began := time.Now()
	fmt.Fprintf(b.progress, "building %s %s\n", p, version)
	part := path + ".part"
	_, err = goCommand(ctx, filepath.Join(b.tools, src.tools), "build", "-trimpath", "-ldflags", linkerFlags(src, version), "-o", part, src.pkg)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(b.progress, "built %s in %s\n", p, time.Since(began).Round(time.Second))
	return path, os.Rename(part, path)
}

// runnable: caches are cleared in parts, and backups restore files without their rights.
func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Mode()&0o100 != 0
}

// linkerFlags give Kubernetes' programs the version they report.
func linkerFlags(src source, version string) string {
	flags := "-s -w"
	if src.stamped {
		const pkg = "k8s.io/component-base/version"
		parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
		flags += fmt.Sprintf(" -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s", pkg, version, pkg, parts[0], pkg, parts[1])
	}
	return flags
}

// version is what the tools' go.mod requires of a module.
func (b *builder) version(src source) (string, error) {
	data, err := os.ReadFile(filepath.Join(b.tools, src.tools, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(words) >= 2 && words[0] == src.module && strings.HasPrefix(words[1], "v") {
			return words[1], nil
		}
	}
	return "", fmt.Errorf("%s requires no %s", filepath.Join(b.tools, src.tools, "go.mod"), src.module)
}

// stageFiles are the stages that make kwok's nodes and pods live: nodes become
// ready at once, pods pass through creation, readiness and deletion with the
// delays their annotations ask for.
var stageFiles = []string{"node/fast", "node/heartbeat-with-lease", "pod/general"}

// stages writes kwok's stages from its module into one file, unless it is there.
func (b *builder) stages(ctx context.Context, src source, path string) error {
	if exists(path) {
		return nil
	}
	module := filepath.Join(b.tools, src.tools)
	if _, err := goCommand(ctx, module, "mod", "download", src.module); err != nil {
		return err
	}
	root, err := goCommand(ctx, module, "list", "-m", "-f", "{{.Dir}}", src.module)
	if err != nil {
		return err
	}
	all, err := joinStages(filepath.Join(strings.TrimSpace(root), "kustomize", "stage"))
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, all, 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

func joinStages(root string) ([]byte, error) {
	var all bytes.Buffer
	for _, folder := range stageFiles {
		files, err := filepath.Glob(filepath.Join(root, folder, filepath.Base(filepath.Dir(folder))+"-*.yaml"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("kwok has no stages in %s", folder)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&all, "---\n%s\n", bytes.TrimSpace(data))
		}
	}
	return all.Bytes(), nil
}

const stagesFile = "stages.yaml"

// goCommand runs the go command in a folder and returns its output.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.String(), nil
}
