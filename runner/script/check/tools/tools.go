// Package tools installs the type checkers that mcprun does not contain: TypeScript's native compiler and pyright. They come from an
// npm registry, and each is pinned by version and hash, so it does not matter who sent it. Start with [All] and [Tool.Install].
//
// Each version of a tool has a folder of its own, which appears at once with all its files. A folder that is there is complete.
package tools

import (
	"os"
	"path"
	"path/filepath"
)

// Tool is one version of a type checker, for one platform.
type Tool struct {
	Name    string // of the program: tsc, pyright
	Version string
	// Package is its name in the registry, and Integrity the hash of the file there, as npm writes it: sha512-BASE64.
	Package, Integrity string
	// Node reports that node runs it. Others are native programs.
	Node bool

	entry string // what is started, below the folder of the package, with slashes
}

// All returns the tools for a platform, as Go names it. A platform for which TypeScript is not made has only pyright.
func All(goos, goarch string) []Tool {
	return append(typescript(goos, goarch), Tool{
		Name: "pyright", Version: "1.1.414", Package: "pyright", Node: true, entry: "index.js",
		Integrity: "sha512-FPZZb51jepDX4eP7TEYDeNFtmE3WgwkkEcJpvH3/QmUSsj0EAy3LXu+xB4T/FWDejtsXlCfFr/rbWFjwuwuXww==",
	})
}

func typescript(goos, goarch string) []Tool {
	integrity, ok := typescripts[goos+"/"+goarch]
	if !ok {
		return nil
	}
	platform, entry := goos, "lib/tsc"
	if goos == "windows" {
		platform, entry = "win32", "lib/tsc.exe"
	}
	if goarch == "amd64" {
		goarch = "x64"
	}
	return []Tool{{Name: "tsc", Version: "7.0.2", Package: "@typescript/typescript-" + platform + "-" + goarch, Integrity: integrity, entry: entry}}
}

// typescripts has the hashes of TypeScript's packages by platform.
var typescripts = map[string]string{
	"darwin/amd64":  "sha512-SZ9xZInqApNlNGc9s0W1VSsktYSOe9cFqNOIqmN1Gs8SmkjKZYFt017G4VwPxASInODuAdbTW7sXiFUf893RgA==",
	"darwin/arm64":  "sha512-gowzar9MwS/aRWp6f3a4KUqzRjAZjOsmGNCM6LcTgXum+dBfgsBVMN+AgvOCCbguXyick6LJhpBszxMebJ8syA==",
	"freebsd/amd64": "sha512-UMGDx5sTpzNw3WiPebH7l90IWfJggEd+egHt/q6p7/Cm3zqoV7VxkGXt+3DxPIw8CcmvAB0j3sVVfbhX+M4Tpw==",
	"freebsd/arm64": "sha512-W5NH4y/J0plIIS5b2xvTEkU7JFxyqdMAOgf+Ilhl0vHQXKO5dZoxd+C/jEtq56c4F3wk71RB4BMRQ2XdI+bwYQ==",
	"linux/amd64":   "sha512-EYdf2cNg7rgCWJnxCdJ+F3V39O8ihb37eHAu1LK8oAFizgTQbPOK7zHHXbPt8rX24COqODXeI3sIf0fCXG7H/A==",
	"linux/arm":     "sha512-gffT3xPz9sR7j/YJExkyPntrI0P2EP9XbOyWzth2/Gs0RstK+90RBcO0ncXoXy/beYll1SXw846Nf2zdnEz0QQ==",
	"linux/arm64":   "sha512-Qh4eU4/y3yDjnfjjyPYihMj5/ODIlmt+Bzu17OI+fiSRDW57QmU5SiN63exPRNJPKUzcc1INa1NXdrJ+MqHjUQ==",
	"linux/loong64": "sha512-uEHck9i8hoAzXPiYRib1O7miOnz23SxIeVl6F4LXox+qov1K35jHcEW6VHKvZI+pyvl7fZEP4MCU5LYvIq1GuQ==",
	"linux/riscv64": "sha512-wf0jqEDOjrPRnKwYRyyJDRo11KMbvMFrU+q4zqKyChODBzvlkbhNQfKvLxQCcwTpdDaXSHZTVuh0JoCrKCUMHQ==",
	"linux/s390x":   "sha512-IkwJc3L7yhytWd/ewjyxNDfOmswCm9GWMJT/ue/dU4aZNbwZeYAetq42VyLmsmSjvoX7z74X6ZaYCtzAr0EuGw==",
	"windows/amd64": "sha512-0BQ3HkAHHlKLSp1qRvf3SUhGpGsDuhB/jgFw75guyqbxJqEaS0Cw/VFO8i2nHglJUzQCRtMMR/IBAKE3ETMC4g==",
	"windows/arm64": "sha512-Gyl1Vy6OsWesLzmq+EP0Fb7b4Nid5232AvcA2SFcdYreldpNtYFFofPjnt62y9hQy7VTaZp65ICJjuAQRaVcIQ==",
}

// Folder returns the folder of the tool below dir, the folder of all tools.
func (t *Tool) Folder(dir string) string { return filepath.Join(dir, t.Name+"-"+t.Version) }

// Installed returns the file that is started, for node if t.Node, and whether the tool is installed in dir.
func (t *Tool) Installed(dir string) (file string, ok bool) { return t.in(t.Folder(dir)) }

// Beside returns the file that is started, of a package that npm installed together with the program in the folder dir. The program is
// in node_modules/@mcpgen/PLATFORM/bin there.
func (t *Tool) Beside(dir string) (file string, ok bool) {
	platform := filepath.Dir(dir)
	scope := filepath.Dir(platform)
	modules := filepath.Dir(scope)
	if filepath.Base(scope) != "@mcpgen" || filepath.Base(modules) != "node_modules" {
		return "", false
	}
	for _, modules := range []string{filepath.Join(platform, "node_modules"), modules} {
		if file, ok = t.in(filepath.Join(modules, filepath.FromSlash(t.Package))); ok {
			return file, true
		}
	}
	return "", false
}

// in returns the file that is started in the folder of the package.
func (t *Tool) in(folder string) (string, bool) {
	file := filepath.Join(folder, filepath.FromSlash(t.entry))
	info, err := os.Stat(file)
	return file, err == nil && info.Mode().IsRegular()
}

// file returns the name of the package's file in a registry.
func (t *Tool) file() string { return path.Base(t.Package) + "-" + t.Version + ".tgz" }
