"""Minimax fits of tanh by N sines on [-R, R]: frequencies and coefficients."""
import numpy as np, json, sys
def basis(w,x): return np.sin(np.outer(x,w))
def solve(w,x,y,wt):
    A=basis(w,x)*wt[:,None]; c,*_=np.linalg.lstsq(A,y*wt,rcond=1e-13); return c
def fit(R,N,iters=300,w0=None):
    m=max(400,60*N); x=R*np.sin(np.linspace(0,np.pi/2,m+1)[1:]); y=np.tanh(x)
    w=(np.arange(N)+0.5)*np.pi/(R*1.35) if w0 is None else w0.copy(); wt=np.ones(m); lam=1e-3
    best=(9,None,None)
    for it in range(iters):
        c=solve(w,x,y,wt); r=(basis(w,x)@c-y)
        err=np.abs(r).max()
        if err<best[0]: best=(err,w.copy(),c.copy())
        # Gauss-Newton on (log w, c) jointly, weighted
        J=np.concatenate([(x[:,None]*np.cos(np.outer(x,w)))*c*w, basis(w,x)],1)*wt[:,None]
        rr=r*wt; H=J.T@J; g=J.T@rr; f0=rr@rr
        for _ in range(12):
            d=-np.linalg.solve(H+lam*np.diag(np.diag(H)+1e-12),g); wn=w*np.exp(np.clip(d[:N],-.3,.3))
            cn=solve(wn,x,y,wt); rn=(basis(wn,x)@cn-y)*wt
            if rn@rn<f0: w=wn; lam=max(lam/3,1e-9); break
            lam=min(lam*4,1e6)
        if it%3==2:
            a=np.abs(basis(w,x)@solve(w,x,y,wt)-y); wt=wt*np.sqrt(np.clip(a/a.max(),1e-3,1))**1.0; wt=np.maximum(wt/wt.max(),1e-4)
    return best
out={}
for R in (1,2,3,4,5,6,8,10,12,16,20,24,32):
    for N in range(2,17):
        cand=[]
        for s in (1.1,1.35,1.7):
            w0=(np.arange(N)+0.5)*np.pi/(R*s); cand.append(fit(R,N,150,w0))
        e,w,c=min(cand,key=lambda z:z[0]); out[f"{R},{N}"]=(e,sorted(w.tolist()),c[np.argsort(w)].tolist())
        if e<2e-6: break
    print(R,{k.split(',')[1]:float('%.2g'%v[0]) for k,v in out.items() if k.startswith(f'{R},')},flush=True)
json.dump(out,open('/tmp/harmonics.json','w'))
