//! Olken's tree (1981): a splay tree of last uses in order of time, each node with the size of its subtree, and a hash
//! map from word to node.

use super::{Checksum, Hashed, Map, Words};

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    /// Earlier and later.
    child: [u32; 2],
    parent: u32,
    size: u32,
}

pub struct Olken {
    nodes: Vec<Node>,
    root: u32,
    place: Hashed,
}

impl Default for Olken {
    fn default() -> Self {
        Olken { nodes: Vec::new(), root: NIL, place: Hashed::default() }
    }
}

impl Olken {
    #[inline(always)]
    fn size(&self, node: u32) -> u32 {
        if node == NIL { 0 } else { self.nodes[node as usize].size }
    }

    /// Exchanges a node with its parent.
    #[inline(always)]
    fn rotate(&mut self, node: u32) {
        let parent = self.nodes[node as usize].parent;
        let grand = self.nodes[parent as usize].parent;
        let side = usize::from(self.nodes[parent as usize].child[1] == node);
        let inner = self.nodes[node as usize].child[1 - side];
        self.nodes[parent as usize].child[side] = inner;
        if inner != NIL {
            self.nodes[inner as usize].parent = parent;
        }
        self.nodes[node as usize].child[1 - side] = parent;
        self.nodes[parent as usize].parent = node;
        self.nodes[node as usize].parent = grand;
        if grand != NIL {
            let up = usize::from(self.nodes[grand as usize].child[1] == parent);
            self.nodes[grand as usize].child[up] = node;
        }
        self.nodes[node as usize].size = self.nodes[parent as usize].size;
        let [left, right] = self.nodes[parent as usize].child;
        self.nodes[parent as usize].size = 1 + self.size(left) + self.size(right);
    }

    #[inline(always)]
    fn splay(&mut self, node: u32) {
        loop {
            let parent = self.nodes[node as usize].parent;
            if parent == NIL {
                break;
            }
            let grand = self.nodes[parent as usize].parent;
            if grand != NIL {
                let straight =
                    (self.nodes[grand as usize].child[1] == parent) == (self.nodes[parent as usize].child[1] == node);
                self.rotate(if straight { parent } else { node });
            }
            self.rotate(node);
        }
        self.root = node;
    }

    /// Makes a word the latest; gives the number of words after its last use.
    #[inline(always)]
    fn touch(&mut self, word: u64) -> Option<u64> {
        let Some(node) = self.place.get(word) else {
            let node = self.nodes.len() as u32;
            self.nodes.push(Node { child: [self.root, NIL], parent: NIL, size: 1 + self.size(self.root) });
            if self.root != NIL {
                self.nodes[self.root as usize].parent = node;
            }
            self.root = node;
            self.place.set(word, node);
            return None;
        };
        self.splay(node);
        let [left, right] = self.nodes[node as usize].child;
        let after = self.size(right);
        if right != NIL {
            // Take the node out and put it above everything else, as the latest.
            self.nodes[right as usize].parent = NIL;
            let mut first = right;
            if left != NIL {
                self.nodes[left as usize].parent = NIL;
                while self.nodes[first as usize].child[0] != NIL {
                    first = self.nodes[first as usize].child[0];
                }
                self.splay(first);
                self.nodes[first as usize].child[0] = left;
                self.nodes[first as usize].size += self.size(left);
                self.nodes[left as usize].parent = first;
            }
            self.nodes[first as usize].parent = node;
            self.nodes[node as usize] =
                Node { child: [first, NIL], parent: NIL, size: 1 + self.nodes[first as usize].size };
            self.root = node;
        }
        Some(u64::from(after))
    }
}

impl Words for Olken {
    #[inline(always)]
    fn load(&mut self, word: u64, sum: &mut Checksum) {
        let live = self.nodes.len() as u64;
        match self.touch(word) {
            Some(after) => sum.warm(8 * after, 8),
            None => sum.cold(8 * live, 8),
        }
    }
    #[inline(always)]
    fn store(&mut self, word: u64) {
        self.touch(word);
    }
}
