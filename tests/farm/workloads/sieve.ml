(* Primes, and a map of strings. *)
module Names = Map.Make (String)

let () =
  let limit = 50000 in
  let composite = Bytes.make limit 'n' in
  let count = ref 0 in
  for i = 2 to limit - 1 do
    if Bytes.get composite i = 'n' then begin
      incr count;
      let j = ref (2 * i) in
      while !j < limit do
        Bytes.set composite !j 'y';
        j := !j + i
      done
    end
  done;
  let ages = ref Names.empty in
  for k = 0 to 1999 do
    let name = "n" ^ string_of_int (k * 7919 mod 1000) in
    let before = Option.value (Names.find_opt name !ages) ~default:0 in
    ages := Names.add name (before + k * 31 mod 97) !ages
  done;
  let name, age = Names.min_binding !ages in
  Printf.printf "%d %d %s %d\n" !count (Names.cardinal !ages) name age
