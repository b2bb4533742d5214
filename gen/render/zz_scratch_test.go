package render
import ("testing";"path/filepath";"os";"encoding/json";"fmt";"bytes";"github.com/tiktoken-go/tokenizer";"github.com/mcpgen/mcpgen/gen/ir";"sort")
func TestScratch(t *testing.T){
 paths,_:=filepath.Glob("../../../shared/corpus/*.json")
 codec,_:=tokenizer.Get(tokenizer.O200kBase)
 n:=func(s string)int{ c,_:=codec.Count(s); return c}
 var J,Jslim,T,P,worseT,worseP,worseTs,worsePs,tools,fields,unk int
 type row struct{name string; j,t,p int}
 var rows []row
 var servers []Server
 defs:=map[string][2]int{}
 for _,path:=range paths{
  s:=loadServer(t,path); servers=append(servers,s)
  raw,_:=os.ReadFile(path); var f struct{Tools []json.RawMessage}; json.Unmarshal(raw,&f)
  for i,r:=range f.Tools{ var b bytes.Buffer; json.Compact(&b,r)
   var m map[string]json.RawMessage; json.Unmarshal(r,&m)
   slim:=fmt.Sprintf(`{"name":%s,"description":%s,"input_schema":%s}`,m["name"],m["description"],m["inputSchema"])
   var b2 bytes.Buffer; json.Compact(&b2,[]byte(slim))
   defs[s.Tools[i].ID]=[2]int{n(b.String()),n(b2.String())}
   var walk func(x ir.Type)
   walk=func(x ir.Type){ switch x:=x.(type){ case ir.Object: for _,f:=range x.Fields{fields++; if _,ok:=f.Type.(ir.Unknown);ok{unk++}; walk(f.Type)}; case ir.Array: walk(x.Elem); case ir.Union: for _,m:=range x.Members{walk(m)}; case ir.Map: walk(x.Value)}}
   walk(s.Tools[i].Input.Root); if s.Tools[i].Output!=nil{walk(s.Tools[i].Output.Root)}
  }
 }
 res,err:=Render(servers,[]Target{TypeScript(),Python()}); if err!=nil{t.Fatal(err)}
 for id,d:=range defs{ tools++
  a,b:=n(string(res.Tree[res.Names["typescript"][id].File])),n(string(res.Tree[res.Names["python"][id].File]))
  J+=d[0];Jslim+=d[1];T+=a;P+=b
  if a>=d[0]{worseT++}; if b>=d[0]{worseP++}; if a>=d[1]{worseTs++}; if b>=d[1]{worsePs++}
  rows=append(rows,row{id,d[0],a,b})
 }
 fmt.Println("tools",tools,"json",J,"slim",Jslim,"ts",T,"py",P,"worse ts/py vs full",worseT,worseP,"vs slim",worseTs,worsePs,"fields",fields,"unknown",unk)
 sort.Slice(rows,func(i,j int)bool{ return rows[i].p-rows[i].j>rows[j].p-rows[j].j})
 for _,r:=range rows[:15]{fmt.Println(r)}
 sort.Slice(rows,func(i,j int)bool{ return rows[i].t-rows[i].j>rows[j].t-rows[j].j})
 for _,r:=range rows[:15]{fmt.Println(r)}
 os.RemoveAll("/tmp/h3out")
 for p,c:=range res.Tree{ os.MkdirAll(filepath.Dir("/tmp/h3out/servers/"+p),0o755); os.WriteFile("/tmp/h3out/servers/"+p,c,0o644)}
}
