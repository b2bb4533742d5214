package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// peers measures what else starts a script: the bare interpreters, deno without permissions, and the docker command with
// the sandbox's own image and flags.
func (b *bench) peers(ctx context.Context) error {
	for _, lang := range languages() {
		words, err := bare(ctx, lang)
		if err != nil {
			return err
		}
		samples, err := command(ctx, nil, append(words, hello(lang))...)
		if err != nil {
			return err
		}
		b.table.add(withoutSandbox(lang), "ms", "", samples)
	}
	if err := b.deno(ctx); err != nil {
		return err
	}
	return b.dockerRuns(ctx)
}

// deno starts the program itself, not the script of its package that looks for it.
func (b *bench) deno(ctx context.Context) error {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	program := filepath.Join(b.root, "testdata/npm/node_modules/@deno", "linux-"+arch+"-glibc", "deno")
	if _, err := os.Stat(program); err != nil {
		b.skip("deno: " + err.Error())
		return nil
	}
	dir, err := b.folder()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "hello.ts")
	if err := os.WriteFile(file, []byte(hello(sandbox.LangTypeScript)), 0o600); err != nil {
		return err
	}
	environ := append(os.Environ(), "DENO_DIR="+filepath.Join(dir, "cache"), "DENO_NO_UPDATE_CHECK=1")
	samples, err := command(ctx, environ, program, "run", "--no-config", "--no-lock", "--no-remote", "--no-prompt", file)
	if err != nil {
		return err
	}
	b.table.add("deno run, no permissions", "ms", withoutSandbox(sandbox.LangTypeScript), samples)
	return nil
}

// dockerRun names the baseline that starts the sandbox's container by hand.
func dockerRun(lang sandbox.Language) string {
	return "docker run of the same image and flags, " + runtimeOf(lang)
}

// dockerRuns starts what the docker sandbox starts, without a workspace, a tree and a bridge.
func (b *bench) dockerRuns(ctx context.Context) error {
	if _, ok := b.usable["docker"]; !ok {
		return nil // said already
	}
	image, err := b.image()
	if err == nil {
		err = exec.CommandContext(ctx, "docker", "image", "inspect", image).Run()
	}
	if err != nil {
		b.skip("docker run of the same image and flags: " + err.Error())
		return nil
	}
	lim := sandbox.Limits{}.WithDefaults()
	tmpfs := fmt.Sprintf(":rw,nosuid,nodev,noexec,mode=1777,size=%d", lim.Tmp)
	flags := []string{
		"run", "--rm", "--init", "--network", "none", "--read-only", "--cap-drop", "ALL", "--ipc", "none", "--cgroupns", "private",
		"--security-opt", "no-new-privileges", "--security-opt", "seccomp=" + filepath.Join(b.root, "runner/sandbox/docker/seccomp.json"),
		"--tmpfs", "/tmp" + tmpfs, "--tmpfs", "/workspace" + tmpfs, "--workdir", "/workspace", "--user", "65534:65534", "--log-driver", "none",
		"--memory", fmt.Sprint(lim.Memory), "--memory-swap", fmt.Sprint(lim.Memory), "--pids-limit", fmt.Sprint(lim.Processes), "--cpus", "2",
		"--ulimit", "core=0", "--ulimit", fmt.Sprintf("fsize=%d", lim.FileSize), "--ulimit", fmt.Sprintf("nofile=%d", lim.Files),
		image,
	}
	programs := [][]string{{"node", "-e"}, {"python3", "-I", "-S", "-B", "-c"}}
	for i, lang := range languages() {
		samples, err := command(ctx, nil, slices.Concat([]string{"docker"}, flags, programs[i], []string{hello(lang)})...)
		if err != nil {
			return err
		}
		b.table.add(dockerRun(lang), "ms", withoutSandbox(lang), samples)
	}
	return nil
}

// image is the digest of the sandbox's image on this machine.
func (b *bench) image() (string, error) {
	text, err := os.ReadFile(filepath.Join(b.root, "runner/sandbox/docker/image.lock.json"))
	if err != nil {
		return "", err
	}
	var lock struct {
		Images map[string]struct{ ID string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return "", fmt.Errorf("read the image's pin: %w", err)
	}
	return lock.Images[runtime.GOARCH].ID, nil
}
