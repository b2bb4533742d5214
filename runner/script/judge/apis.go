package judge

import (
	"path"
	"regexp"
	"strings"
)

// Known functions by the rule that each one breaks. A name ending in .* stands for all members of a module.
var (
	javascriptAPIs = apis(map[string]string{
		"dynamic-code":  "eval Function AsyncFunction GeneratorFunction vm.* node:vm.* Object.getPrototypeOf().constructor Reflect.construct().constructor module._compile repl.* inspector.*",
		"process":       "child_process.* cluster.* worker_threads.Worker Deno.Command Deno.run Bun.spawn Bun.spawnSync process.kill process.abort",
		"native-code":   "process.binding process._linkedBinding process.dlopen process.setuid process.setgid ffi.* ffi-napi.* WebAssembly.instantiate WebAssembly.compile WebAssembly.Module WebAssembly.instantiateStreaming WebAssembly.Instance v8.setFlagsFromString bun:ffi.*",
		"introspection": "module.constructor module.constructor._load require.cache process.mainModule module._extensions module.Module",
		"unsafe-load":   "v8.deserialize node-serialize.unserialize serialize-javascript.deserialize",
		"file-delete":   "fs.rm fs.rmSync fs.unlink fs.unlinkSync fs.rmdir fs.rmdirSync fs.truncate fs.truncateSync delete_file deleteFile rimraf rimraf.rimraf Deno.remove",
		"file-write":    "fs.writeFile fs.writeFileSync fs.appendFile fs.appendFileSync fs.createWriteStream fs.rename fs.renameSync fs.copyFile fs.copyFileSync fs.cp fs.cpSync fs.mkdir fs.mkdirSync fs.symlink fs.symlinkSync fs.link fs.linkSync fs.chmod fs.chmodSync write_file writeFile saveSkill save_skill",
		"file-read":     "fs.readFile fs.readFileSync fs.createReadStream fs.opendir fs.opendirSync fs.readdir fs.readdirSync read_file readFile",
		"network":       "fetch XMLHttpRequest WebSocket EventSource http.* https.* http2.* net.* tls.* dgram.* dns.* axios axios.* undici.* got ws ws.*",
	})
	pythonAPIs = apis(map[string]string{
		"dynamic-code":  "pydoc.locate pydoc.pipepager pkgutil.resolve_name trace.Trace bdb.* doctest.* cProfile.Profile profile.Profile logging.config.* eval exec compile breakpoint pdb.* code.* codeop.* types.CodeType types.FunctionType runpy.* importlib.util.spec_from_file_location importlib.util.module_from_spec importlib.machinery.SourceFileLoader imp.* typing.get_type_hints typing_extensions.get_type_hints",
		"process":       "os.system os.popen os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.spawnl os.spawnv os.spawnve os.spawnvp os.spawnlp os.execlpe os.spawnle os.spawnlpe os.spawnvpe _posixsubprocess.* webbrowser.* os.posix_spawn os.posix_spawnp os.fork os.forkpty os.kill os.killpg os.abort subprocess.* commands.* pty.* multiprocessing.Process multiprocessing.Pool multiprocessing.Manager concurrent.futures.ProcessPoolExecutor concurrent.futures.process.ProcessPoolExecutor asyncio.create_subprocess_shell asyncio.create_subprocess_exec asyncio.subprocess.* popen2.* sh.* pexpect.*",
		"native-code":   "ctypes.* cffi.* _ctypes.* mmap.* os.setuid os.setgid os.ptrace os.chroot os.mknod os.dlopen sys.setdlopenflags resource.setrlimit",
		"introspection": "sys._getframe sys._current_frames sys.settrace sys.setprofile gc.get_objects gc.get_referrers inspect.currentframe inspect.stack sys.meta_path sys.path_hooks sys.addaudithook",
		"unsafe-load":   "pickle.loads pickle.load pickle.Unpickler dill.loads dill.load cloudpickle.loads cloudpickle.load marshal.loads marshal.load shelve.open yaml.unsafe_load yaml.full_load jsonpickle.decode joblib.load",
		"file-delete":   "os.remove os.unlink os.rmdir os.removedirs os.truncate shutil.rmtree delete_file pathlib.Path().unlink pathlib.Path().rmdir",
		"file-write":    "sqlite3.connect dbm.* logging.FileHandler logging.handlers.RotatingFileHandler logging.handlers.TimedRotatingFileHandler tempfile.mkstemp tempfile.mkdtemp shutil.unpack_archive urllib.request.urlretrieve os.utime os.mkfifo os.mknod os.setxattr os.truncate pathlib.Path().chmod numpy.save numpy.savez numpy.savetxt os.rename os.replace os.renames os.mkdir os.makedirs os.symlink os.link os.chmod os.chown shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.move shutil.make_archive pathlib.Path().write_text pathlib.Path().write_bytes pathlib.Path().mkdir pathlib.Path().touch pathlib.Path().rename pathlib.Path().replace pathlib.Path().symlink_to pathlib.Path().hardlink_to write_file save_skill",
		"file-read":     "linecache.getlines linecache.getline fileinput.input fileinput.FileInput configparser.ConfigParser().read xml.etree.ElementTree.parse xml.dom.minidom.parse xml.sax.parse os.walk os.listdir os.scandir glob.iglob pathlib.Path().iterdir pathlib.Path().glob pathlib.Path().rglob pandas.read_csv pandas.read_excel pandas.read_json pandas.read_parquet numpy.load numpy.loadtxt numpy.genfromtxt glob.glob pathlib.Path().read_text pathlib.Path().read_bytes read_file list_files",
		"network":       "socket.* requests.* httpx.* aiohttp.* urllib.request.* urllib.robotparser.* ssl.get_server_certificate logging.handlers.HTTPHandler logging.handlers.SocketHandler logging.handlers.SMTPHandler urllib3.* http.client.* ftplib.* smtplib.* telnetlib.* paramiko.* xmlrpc.client.* asyncio.open_connection websockets.* websocket.* poplib.* imaplib.*",
	})
	// members are methods whose names say what they do, whatever has them.
	members = apis(map[string]string{
		"process":       "execSync spawnSync execFileSync subprocess_exec subprocess_shell",
		"file-read":     "read_text read_bytes",
		"file-delete":   "unlink unlinkSync rmSync rmdirSync rmtree",
		"file-write":    "write_text write_bytes extractall writeFileSync to_csv to_excel to_parquet savefig",
		"introspection": "__subclasses__ __self__ __globals__ __builtins__ __code__ __closure__ f_globals f_builtins f_back f_locals gi_frame cr_frame ag_frame tb_frame __getattribute__ __reduce_ex__ __loader__ __import__",
	})
	// modules are those that have no use but that of a rule.
	modules = apis(map[string]string{
		"process":       "subprocess child_process pty cluster pexpect",
		"native-code":   "ctypes cffi _ctypes ffi ffi-napi node-ffi bun:ffi",
		"dynamic-code":  "vm code codeop runpy repl inspector imp",
		"unsafe-load":   "dill cloudpickle node-serialize",
		"network":       "socket requests httpx aiohttp urllib3 ftplib smtplib telnetlib paramiko http https http2 net tls dgram axios undici got ws websockets",
		"introspection": "gc",
	})
	// sensitive are objects of which a computed member may be anything.
	sensitive = set("globalThis process child_process vm require module builtins __builtins__ os sys subprocess importlib ctypes posix sys.modules globals() fs shutil")
	// wholes are objects that have more than a script needs, so that handing them on is a way to what is dangerous.
	wholes = set("globalThis builtins __builtins__ os posix subprocess importlib ctypes sys.modules child_process vm")
	// lookers are functions that do no more with an object than to look at it, or whose result is known.
	lookers = set("getattr hasattr get has hasOwn keys dir print help log isinstance type id len")
	// runsTexts are functions that take code as a text or a function.
	runsTexts = set("setTimeout setInterval setImmediate timeit.timeit timeit.repeat timeit.Timer cProfile.run profile.run typing.ForwardRef")
	// openers are functions like Python's open: the second argument says whether a file is changed.
	openers = set("fs.open fs.openSync open io.open io.FileIO codecs.open tokenize.open os.open pathlib.Path().open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile")
)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

func apis(byRule map[string]string) map[string]string {
	out := map[string]string{}
	for rule, names := range byRule {
		for name := range strings.FieldsSeq(names) {
			out[name] = rule
		}
	}
	return out
}

// rule returns the rule that a path breaks; empty: none.
func (a *analysis) rule(p string) string {
	table := javascriptAPIs
	if a.python {
		table = pythonAPIs
	}
	if r, ok := table[p]; ok {
		return r
	}
	for at := len(p); ; {
		at = strings.LastIndexByte(p[:at], '.')
		if at < 0 {
			return ""
		}
		if r, ok := table[p[:at]+".*"]; ok {
			return r
		}
	}
}

// last returns the last name of a path.
func last(p string) string { return p[strings.LastIndexByte(p, '.')+1:] }

var (
	inTree   = regexp.MustCompile(`^(?:\.{1,2}/|/mcp/)*#?(servers|skills)(?:/(.*))?$`)
	pathNode = regexp.MustCompile(`^(?:node:)`)
)

// modulePath returns the path of a module's value.
func (a *analysis) modulePath(specifier string) string {
	if a.python {
		return a.canonical(specifier)
	}
	name := pathNode.ReplaceAllString(specifier, "")
	if m := inTree.FindStringSubmatch(name); m != nil {
		rest := strings.TrimSuffix(path.Clean(strings.TrimSuffix(m[2], path.Ext(m[2]))), "/index")
		if m[2] == "" || rest == "index" || rest == "." {
			return m[1]
		}
		return m[1] + "." + strings.ReplaceAll(strings.ReplaceAll(rest, ".", "_"), "/", ".")
	}
	switch name {
	case "fs/promises", "fs-extra":
		return "fs"
	}
	return a.canonical(name)
}

// throughModule returns the path of what a module reaches through another, such as logging.os.system.
func throughModule(p string) string {
	if strings.Contains(p, "()") || strings.HasPrefix(p, ".") || strings.HasPrefix(p, "servers.") || strings.HasPrefix(p, "skills.") {
		return p
	}
	parts := strings.Split(p, ".")
	for i := len(parts) - 1; i > 0; i-- {
		if parts[i] == parts[i-1] {
			continue // socket.socket is no module
		}
		switch parts[i] {
		case "builtins", "__builtins__":
			if i < len(parts)-1 && parts[i+1] != unknownMember {
				return strings.Join(parts[i+1:], ".")
			}
			return strings.Join(parts[i:], ".")
		case "os", "posix", "sys", "subprocess", "importlib", "ctypes", "shutil", "pickle", "socket", "_os", "_sys":
			return strings.TrimPrefix(strings.Join(parts[i:], "."), "_")
		}
	}
	return p
}

// canonical returns the shortest path of what a path stands for.
func (a *analysis) canonical(p string) string {
	if a.python {
		p = strings.TrimSuffix(strings.TrimSuffix(p, ".__dict__"), ".__call__")
		for _, prefix := range []string{"builtins.", "__builtins__.", "mcprun.", "__main__."} {
			if rest, ok := strings.CutPrefix(p, prefix); ok && rest != unknownMember {
				p = rest
			}
		}
		if name, ok := strings.CutPrefix(p, "globals()."); ok && name != unknownMember {
			return a.canonical(name)
		}
		if name, ok := strings.CutPrefix(p, "sys.modules."); ok && name != unknownMember {
			return name
		}
		p = throughModule(p)
		if rest, ok := strings.CutPrefix(p, "pathlib.Path."); ok { // an unbound method
			return pathObject + "." + rest
		}
		if rest, ok := strings.CutPrefix(p, "posix."); ok {
			return "os." + rest
		}
		return p
	}
	for _, prefix := range []string{"globalThis.", "window.", "self.", "global.", "mcprun.", "process.mainModule."} {
		if rest, ok := strings.CutPrefix(p, prefix); ok && rest != unknownMember {
			p = rest
		}
	}
	for _, suffix := range []string{".default", ".call", ".apply", ".bind", ".bind()", ".prototype"} {
		p = strings.TrimSuffix(p, suffix)
	}
	if rest, ok := strings.CutPrefix(p, "fs.promises"); ok {
		return "fs" + rest
	}
	switch p {
	case "window", "global", "self", "window.?", "global.?", "self.?":
		return "globalThis" + strings.TrimLeft(p, "windoglbasef")
	case "module.require", "require.main.require":
		return "require"
	}
	return p
}
