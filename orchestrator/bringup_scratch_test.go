package orchestrator
import ("testing";"os";"time";"github.com/pausenet/pausenet/topologies")
func TestBringUp(t *testing.T){
 data,_:=os.ReadFile("/tmp/t.yaml")
 plan,err:=topologies.Parse("t.yaml",data)
 if err!=nil{t.Fatal(err)}
 for range 3 {
 s:=time.Now()
 p,err:=OpenKernelPlane(plan,FabricOptions{})
 if err!=nil{t.Fatal(err)}
 t.Logf("%+v %v",p.Fabric().Timing,time.Since(s))
 s=time.Now()
 p.Close()
 t.Log("close",time.Since(s))
 }
}
