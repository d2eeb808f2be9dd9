package azurite

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed npm/package.json
var packageJSON []byte

//go:embed npm/package-lock.json
var packageLock []byte

// installTimeout limits the download of the npm packages.
const installTimeout = 10 * time.Minute

// Install downloads the pinned npm packages to the user's cache folder, unless they are there
// already, and returns the folder that contains node_modules. Several processes may call Install at
// once: one of them downloads, and the others wait.
func Install(ctx context.Context) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", ErrNoRuntime
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "aztablekit")
	// The name of the folder depends on the lock file, so that a changed lock file is installed
	// into another folder.
	sum := sha256.Sum256(append(append([]byte{}, packageJSON...), packageLock...))
	dir := filepath.Join(cache, fmt.Sprintf("npm-%x", sum[:8]))
	if installed(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if installed(dir) {
		return dir, nil
	}
	fmt.Fprintln(os.Stderr, "downloading Azurite from npm to "+dir+" (once, about a minute)")
	tmp, err := os.MkdirTemp(cache, "installing-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for name, data := range map[string][]byte{"package.json": packageJSON, "package-lock.json": packageLock} {
		if err := os.WriteFile(filepath.Join(tmp, name), data, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = tmp
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, bytes.TrimSpace(out.Bytes()))
	}
	// Only the rename completes the installation, so that a failed attempt leaves no incomplete
	// folder under this name.
	if err := os.Rename(tmp, dir); err != nil && !installed(dir) {
		return "", err
	}
	return dir, nil
}

func installed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "node_modules"))
	return err == nil
}
