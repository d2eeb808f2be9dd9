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

// installTime bounds the download of the npm packages.
const installTimeout = 10 * time.Minute

// Install puts the pinned npm packages into the user's cache folder, unless they are there, and returns the folder that
// holds node_modules. Several processes may call it at once: one installs, the others wait.
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
	// The folder is named by what it holds: a changed lock file is installed anew, beside the old.
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
	fmt.Fprintln(os.Stderr, "fetching Azurite from npm into "+dir+", once; this takes about a minute")
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
	// The rename is what makes the folder count as installed: a broken attempt leaves nothing behind that does.
	if err := os.Rename(tmp, dir); err != nil && !installed(dir) {
		return "", err
	}
	return dir, nil
}

func installed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "node_modules"))
	return err == nil
}
