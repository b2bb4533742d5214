package script

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"sync"
)

// sources finds the texts of a script's files by the names used in positions: lib/mail.ts, skills/report/scripts/main.ts. It is safe for
// concurrent use.
type sources struct {
	skills string // the folder of skills for Python, which reads them while it runs, or empty

	mu      sync.Mutex
	bundles []string          // bundles whose source maps were not read yet
	texts   map[string]string // by name
}

// mapMarker begins the last line of a bundle, its source map.
const mapMarker = "//# sourceMappingURL=data:application/json;base64,"

// add adds the modules of a bundle.
func (s *sources) add(bundle string) {
	if i := strings.LastIndex(bundle, mapMarker); i >= 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bundles = append(s.bundles, strings.TrimSpace(bundle[i+len(mapMarker):]))
	}
}

// find returns the text of a file as it was when it was bundled. If several texts have the name, it returns the first.
func (s *sources) find(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAll()
	if text, ok := s.texts[name]; ok {
		return text, true
	}
	file, ok := strings.CutPrefix(name, skillsNamespace+"/")
	if !ok || s.skills == "" {
		return "", false
	}
	f := newFiles(Source{})
	defer f.close()
	if err := f.open("", Options{Skills: s.skills}); err != nil || f.skills == nil {
		return "", false
	}
	text, err := f.read(skillsNamespace, file)
	return string(text), err == nil
}

// all returns the texts by name.
func (s *sources) all() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAll()
	return maps.Clone(s.texts)
}

// readAll reads the source maps that were not read yet. s.mu is held.
func (s *sources) readAll() {
	for _, text := range s.bundles {
		s.read(text)
	}
	s.bundles = nil
}

// read adds the texts of a source map.
func (s *sources) read(encoded string) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return
	}
	var m struct{ Sources, SourcesContent []string }
	if json.Unmarshal(text, &m) != nil {
		return
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	for i, id := range m.Sources {
		namespace, path, _ := strings.Cut(id, ":")
		if i >= len(m.SourcesContent) || namespace != scriptNamespace && namespace != skillsNamespace {
			continue
		}
		if namespace == skillsNamespace {
			path = skillsNamespace + "/" + path
		}
		if _, known := s.texts[path]; !known {
			s.texts[path] = m.SourcesContent[i]
		}
	}
}
