package search

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
)

// maxCached bounds the number of vectors in a cache. Beyond that, it starts again with the added ones.
const maxCached = 100_000

// key is the digest of an embedded text.
type key [sha256.Size]byte

func textKey(text string) key { return sha256.Sum256([]byte(text)) }

// cache keeps the vectors of one embedder in a file. For each vector it has the key of its text, the number of dimensions, and the float32
// values, in little-endian order. Several processes may share it; if two add vectors at the same time, one may lose its own. The zero cache
// keeps nothing.
type cache struct{ file string }

func newCache(dir, embedder string) cache {
	digest := sha256.Sum256([]byte(embedder))
	return cache{filepath.Join(dir, fmt.Sprintf("embeddings-%x.bin", digest[:8]))}
}

// remedy says, at the end of an error, which file to remove.
func (c cache) remedy() string {
	if c.file == "" {
		return ""
	}
	return "; remove " + c.file
}

// load reads all vectors.
func (c cache) load() (map[key][]float32, error) {
	if c.file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(c.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the cache of embeddings: %w", err)
	}
	out := map[key][]float32{}
	const head = len(key{}) + 4
	for dimensions := 0; len(raw) > 0; {
		if len(raw) < head {
			return nil, fmt.Errorf("the cache of embeddings is damaged%s", c.remedy())
		}
		k, n := key(raw), int(binary.LittleEndian.Uint32(raw[len(key{}):]))
		if n == 0 || n > maxDimensions || len(raw) < head+4*n || dimensions != 0 && n != dimensions {
			return nil, fmt.Errorf("the cache of embeddings is damaged%s", c.remedy())
		}
		vector := make([]float32, n)
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[head+4*i:]))
		}
		if vector = unit(vector); vector == nil {
			return nil, fmt.Errorf("the cache of embeddings is damaged%s", c.remedy())
		}
		out[k], raw, dimensions = vector, raw[head+4*n:], n
	}
	return out, nil
}

// maxWeights bounds the number of weights in a cache. Beyond that, it starts again.
const maxWeights = 100

// weightKey identifies everything on which a weight depends: the texts of an index, in order, and the working of the self-test.
func weightKey(texts []string) string {
	sum := sha256.New()
	fmt.Fprintln(sum, weights, maxAsked, maxLoss, maxTrust)
	for _, text := range texts {
		k := textKey(text)
		sum.Write(k[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// weights reads the file of weights, which is beside the file of vectors. It returns none from a damaged file, because they are cheap to
// compute again.
func (c cache) weights() map[string]float64 {
	out := map[string]float64{}
	if raw, err := os.ReadFile(c.file + ".json"); err == nil && len(raw) < 1<<16 && json.Unmarshal(raw, &out) != nil {
		return map[string]float64{}
	}
	return out
}

// weight returns the weight that the self-test of an index found, or -1 if it is unknown.
func (c cache) weight(texts []string) float64 {
	if c.file != "" {
		if w, ok := c.weights()[weightKey(texts)]; ok && (w == 0 || slices.Contains(weights, w)) {
			return w
		}
	}
	return -1
}

// keepWeight stores the weight.
func (c cache) keepWeight(texts []string, weight float64) error {
	if c.file == "" {
		return nil
	}
	all := c.weights()
	if len(all) >= maxWeights {
		clear(all)
	}
	all[weightKey(texts)] = weight
	raw, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return c.replace(c.file+".json", raw)
}

// add adds vectors to the existing ones.
func (c cache) add(made map[key][]float32) error {
	if c.file == "" {
		return nil
	}
	all, err := c.load()
	if err != nil {
		return err
	}
	if maps.Copy(all, made); len(all) > maxCached {
		all = made
	}
	var raw []byte
	for k, vector := range all {
		raw = binary.LittleEndian.AppendUint32(append(raw, k[:]...), uint32(len(vector)))
		for _, x := range vector {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
	}
	return c.replace(c.file, raw)
}

// replace writes a file of the cache atomically. It creates the folder and the file for the user alone.
func (c cache) replace(file string, raw []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("create the cache of embeddings: %w", err)
	}
	if err := atomicfile.Write(file, raw, 0o600); err != nil {
		return fmt.Errorf("write the cache of embeddings: %w", err)
	}
	return nil
}
